import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../lib/api.ts";
import { beginSignIn, finishSignIn, isReturning, type ProviderSettings, providerSettings } from "../lib/oidc.ts";
import { instance, signIn } from "../lib/session.ts";
import { useAction } from "../lib/use-load.ts";
import { TextField } from "../ui/fields.tsx";
import { Button, Card, ProblemNotice } from "../ui/parts.tsx";

/** Shown when the server wants to know who asks. */
export function SignInPage({ problem }: { readonly problem: Problem }) {
  const [key, setKey] = useState("");
  const [provider, setProvider] = useState<ProviderSettings | undefined>();
  const enter = useAction(signIn);
  const leave = useAction(beginSignIn);
  const back = useAction(async () => signIn(await finishSignIn()));
  // Depends on this alone: once, when the page opens
  useEffect(() => {
    document.title = "Sign in · native-engine";
    void providerSettings().then(setProvider, () => {});
    if (isReturning()) void back.run();
  }, []);
  const { features, signInMethods = [] } = instance.value ?? { features: {} as Record<string, boolean> };
  const providerName = signInMethods.find(({ kind }) => kind === "SIGN_IN_KIND_IDENTITY_PROVIDER")?.displayName;
  const what = features["oidc"] ? (features["apikey"] ? "API key or access token" : "Access token") : "API key";
  const isFirst = problem.reason === "unauthenticated" && key === "" && enter.problem === undefined;
  return (
    <main class="sign-in">
      <Card>
        <div class="sign-in-head">
          <h1>Sign in</h1>
          <p class="muted">{instance.value?.name ?? "native-engine"} asks for a credential.</p>
        </div>
        {isFirst || problem.reason === "signed_out" ? null : (
          <ProblemNotice problem={enter.problem === undefined && back.problem === undefined ? problem : undefined} />
        )}
        {provider === undefined ? null : (
          <Button kind="primary" busy={leave.busy || back.busy} onClick={() => void leave.run(provider)}>
            Sign in with {providerName ?? "the identity provider"}
          </Button>
        )}
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            void enter.run(key.trim());
          }}
        >
          <TextField
            label={what}
            type="password"
            value={key}
            onInput={setKey}
            required
            mono
            autoFocus={provider === undefined}
            hint="Kept in this tab only, until you close it."
          />
          <Button type="submit" kind={provider === undefined ? "primary" : "plain"} busy={enter.busy}>
            Sign in
          </Button>
        </form>
        <ProblemNotice problem={enter.problem ?? leave.problem ?? back.problem} />
        <details>
          <summary>Where do I get one?</summary>
          <p class="muted">
            On the machine of the service: <code>native-engine keys create --name me --role admin</code>. It is shown
            once.
          </p>
        </details>
      </Card>
    </main>
  );
}
