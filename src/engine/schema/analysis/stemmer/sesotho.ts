import { always, SuffixStep } from "./suffix.ts";

/** Sesotho, as Snowball has it since its third release. */
const nominal = new SuffixStep({ "ana nyana oa i ano": always });
const verbal = new SuffixStep({ "a ela isa wa ile etse ang eng ong": always });
const prefix = /^(?:boi|ba|l[ei]|m[aeo]|se)(?=..)(?=.*[aeiou])/s;

export function stemSesotho(input: string): string {
  const vowel = input.search(/[aeiou]/);
  if (vowel === -1 || input.length < 2) return input;
  const from = Math.max(vowel + 1, 2);
  let word = input;
  for (const step of [nominal, verbal]) word = step.apply(word, { first: from, second: from }, from) ?? word;
  return word.replace(prefix, "");
}
