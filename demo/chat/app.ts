import { LiveClient } from "native-engine/client";
import { LiveProvider, useMutation, useQuery } from "native-engine/react";
import { createElement as h, useState } from "react";
import { createRoot } from "react-dom/client";

interface Message {
  readonly _id: string;
  readonly author: string;
  readonly text: string;
}

const parameters = new URLSearchParams(location.search);
const room = parameters.get("room") ?? "lobby";
const author = parameters.get("name") ?? `guest ${Math.floor(Math.random() * 1000)}`;

function Chat() {
  const messages = useQuery("messages:list", { room }) as Message[] | undefined;
  const send = useMutation("messages:send");
  const [text, setText] = useState("");
  const submit = async (event: { preventDefault(): void }) => {
    event.preventDefault();
    setText("");
    const optimistic = { _id: "sending", author, text };
    await send(
      { room, author, text },
      {
        // Shown at once; the server's answer takes its place.
        optimistic: (store) => {
          const known = store.get("messages:list", { room }) as Message[] | undefined;
          store.set("messages:list", { room }, [...(known ?? []), optimistic]);
        },
      },
    );
  };
  if (messages === undefined) return h("p", null, "Loading …");
  return h(
    "main",
    null,
    h("h1", null, `# ${room}`),
    h(
      "ul",
      null,
      messages.map(({ _id, author: by, text: said }) => h("li", { key: _id }, h("b", null, by), ` ${said}`)),
    ),
    h(
      "form",
      { onSubmit: submit },
      h("input", {
        value: text,
        placeholder: `Write as ${author}`,
        "aria-label": "message",
        onChange: (event: { target: { value: string } }) => setText(event.target.value),
      }),
      h("button", null, "Send"),
    ),
  );
}

const { url, namespace } = JSON.parse(document.getElementById("settings")!.textContent!);
const client = new LiveClient({ url, namespace });
createRoot(document.getElementById("root")!).render(h(LiveProvider, { client }, h(Chat)));
