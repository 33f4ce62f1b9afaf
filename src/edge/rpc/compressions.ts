import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";

/** What callers may send and ask for. */
export const compressions = [compressionGzip, compressionBrotli];
