import { invalid } from "../../engine/errors.ts";
import type { SqlParameter } from "../../engine/sql/sql.ts";
import type { FlightData } from "../../gen/arrow/flight/protocol/Flight_pb.ts";
import { ArrowFormatError, readMessage } from "./arrow/schema-reader.ts";
import type { ArrowField } from "./arrow/type.ts";
import { readRows } from "./arrow/value-reader.ts";
import { flightLimits } from "./limits.ts";

const valueBytes = 16;

/** Gathers the rows of parameters that a client sends one message at a time. */
export class ParameterReader {
  readonly rows: SqlParameter[][] = [];
  #fields: readonly ArrowField[] | undefined;
  #bytes = 0;
  readonly #values = { left: flightLimits.parameterValuesMax };

  /** About what they take in memory: many values of a list may come in a few bytes. */
  get bytes(): number {
    return this.#bytes + valueBytes * (flightLimits.parameterValuesMax - this.#values.left);
  }

  add({ dataHeader, dataBody }: FlightData): void {
    if (dataHeader.byteLength === 0) return;
    this.#bytes += dataHeader.byteLength + dataBody.byteLength;
    if (this.#bytes > flightLimits.parameterBytesMax) {
      throw invalid("parameters", `have more than ${flightLimits.parameterBytesMax} bytes`);
    }
    try {
      this.#read(dataHeader, dataBody);
    } catch (error) {
      if (error instanceof ArrowFormatError) throw invalid("parameters", error.message);
      throw error;
    }
  }

  #read(dataHeader: Uint8Array, dataBody: Uint8Array): void {
    const message = readMessage(dataHeader);
    if (message.kind === "schema") {
      this.#fields = message.fields;
      return;
    }
    if (this.#fields === undefined) throw new ArrowFormatError("a record batch comes before its schema");
    const rowsMax = flightLimits.parameterRowsMax - this.rows.length;
    this.rows.push(...readRows(this.#fields, message.header, dataBody, { rowsMax, values: this.#values }));
  }
}
