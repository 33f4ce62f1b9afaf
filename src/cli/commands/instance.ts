import { NodeClock } from "../../adapter/node/clock.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import { openIdentity } from "../../engine/instance/identity.ts";
import { setUp } from "../../engine/instance/setup.ts";
import { SigningKeys } from "../../engine/instance/signing-keys.ts";
import type { Context } from "../context.ts";
import { onInstance } from "../data-dir.ts";
import type { Run } from "../spec.ts";

export const setup: Run = async (context) => {
  const input = { org: context.required("org"), owner: context.required("owner") };
  const done = await onInstance(context, (store) => setUp(store, new NodeClock(), new NodeRandom(), input));
  await context.out.value(done, () => `The org ${done.org.name} (${done.org.id}) belongs to ${done.owner}.`);
  return undefined;
};

export const showSigningKey: Run = (context) => onSigningKeys(context, async () => {});
export const rotateSigningKey: Run = (context) => onSigningKeys(context, (keys, id) => keys.startRotation(id));
export const finishSigningKey: Run = (context) => onSigningKeys(context, (keys) => keys.finishRotation());

type Step = (keys: SigningKeys, id: Parameters<SigningKeys["startRotation"]>[0]) => Promise<unknown>;

async function onSigningKeys(context: Context, step: Step): Promise<undefined> {
  const [current, next, retired] = await onInstance(context, async (store) => {
    const clock = new NodeClock();
    const id = await openIdentity(store, clock, new NodeRandom());
    const keys = await SigningKeys.open(store, clock);
    await step(keys, id);
    const [first, ...others] = keys.keySet.keys.map((key) => key.kid ?? "");
    const isRotating = keys.rotationProof !== undefined;
    return [first, isRotating ? others[0] : undefined, isRotating ? others.slice(1) : others] as const;
  });
  const lines = [
    `signing: ${current}`,
    ...(next === undefined ? [] : [`next: ${next}`]),
    ...retired.map((key) => `retired: ${key}`),
  ];
  await context.out.value({ current, next: next ?? null, retired }, () => lines.join("\n"));
}
