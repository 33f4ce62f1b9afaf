import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/**
 * `100 Continue` goes out when the body is first read, and not at all where the answer comes before: a client that asks
 * wants to know whether its body is of use, which a wrong path, a missing credential or a length over the limit rule out.
 */
function whenRead(request: IncomingMessage | Http2ServerRequest, goOn: () => void): void {
  request._read = (size) => {
    // The prototype's own is back for this read and all that follow.
    Reflect.deleteProperty(request, "_read");
    goOn();
    request._read(size);
  };
}

/** Over HTTP/1, where Node ends the connection after an answer without the word: nobody knows what the next bytes are. */
export function continueHttp1(request: IncomingMessage, response: ServerResponse): void {
  whenRead(request, () => {
    // Node writes the head of a queued answer before all else that is queued with it, the interim answer too,
    // which would then stand in the middle of the answer. A body that comes behind another request is on its way anyway.
    if (!response.headersSent && response.socket !== null) response.writeContinue();
  });
}

export function continueHttp2(request: Http2ServerRequest, response: Http2ServerResponse): void {
  whenRead(request, () => {
    if (!response.headersSent && !request.stream.destroyed) response.writeContinue();
  });
}
