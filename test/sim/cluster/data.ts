import { type RunReport, runSeed } from "../simulation.ts";
import { type GroundSabotage, ManyMachines } from "./ground.ts";

export type { GroundSabotage } from "./ground.ts";

const steps = 240;

/** The whole engine on a cluster: the clients and the checks of one machine, with owners that come and go. */
export async function runDataSeed(
  seed: number,
  sabotage: GroundSabotage = {},
  traceLinesMax = 80,
): Promise<RunReport & { readonly epochs: number }> {
  let ground: ManyMachines | undefined;
  const report = await runSeed({
    ...{ seed, steps, traceLinesMax },
    makeGround: (world) => {
      ground = new ManyMachines(seed, world, sabotage);
      return ground;
    },
  });
  return { ...report, epochs: ground!.epochs };
}
