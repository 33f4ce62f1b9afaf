import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A major GC of the thread that calls it. Thoroughly: also what the runtime keeps of freed memory for later goes back to the system, in some 60 ms. */
export function collectorOf(): (thoroughly: boolean) => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  return (thoroughly) => collect({ type: "major", flavor: thoroughly ? "last-resort" : "regular", execution: "sync" });
}
