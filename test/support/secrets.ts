export interface FoundSecret {
  /** From 1. */
  readonly line: number;
  readonly kind: string;
}

/** Put together at run time, so that this file does not hold what it looks for. */
const pem = ["-----BEGIN", "PRIVATE KEY-----"] as const;

const patterns: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["a private key", new RegExp(`${pem[0]} (?:[A-Z]+ )*${pem[1]}`)],
  ["a private JWK", /"d"\s*:\s*"[A-Za-z0-9_-]{40,}"/],
  ["a key of this service", /\bnek_[0-9a-f]{16}_[A-Za-z0-9_-]{40,}/],
  ["a key of a cloud provider", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ["a key of an API", /\b(?:sk|rk|pk)[-_](?:live|test|ant|proj)[-_][A-Za-z0-9_-]{16,}/],
  ["a token of a code host", /\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,}|glpat-[A-Za-z0-9_-]{20})\b/],
  ["a token of a package registry", /\bnpm_[A-Za-z0-9]{36}\b|_authToken\s*=\s*\S{8,}/],
  ["a token of a chat", /\bxox[abprs]-[A-Za-z0-9-]{10,}/],
  ["a signed token", /\beyJ[A-Za-z0-9_-]{16,}\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/],
  // A word that stands for a password is none.
  [
    "a password in an address",
    /\b[a-z][a-z0-9+]*:\/\/[^\s/:@"'`$<{]+:(?!(?:key|pass|word|password)@)[^\s/:@"'`$<{]{3,}@[a-z0-9]/i,
  ],
];

const allowed = "not-a-secret";

/** Lines that hold something of the form of a secret. */
export function findSecrets(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  const lines = text.split("\n");
  for (const [i, line] of lines.entries()) {
    if (line.includes(allowed) || lines[i - 1]?.includes(allowed)) continue;
    for (const [kind, pattern] of patterns) if (pattern.test(line)) found.push({ line: i + 1, kind });
  }
  return found;
}
