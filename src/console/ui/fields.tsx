import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly hideLabel?: boolean;
  readonly wide?: boolean;
}

/** A label and what it labels: its child gets the id. */
export function Field({
  label,
  hint,
  hideLabel = false,
  wide = false,
  children,
}: FieldProps & { readonly children: (id: string) => JSX.Element }) {
  const id = useId();
  return (
    <div class={`field${wide ? " wide" : ""}`}>
      <label for={id} class={hideLabel ? "visually-hidden" : ""}>
        {label}
      </label>
      {children(id)}
      {hint === undefined ? null : <p class="hint">{hint}</p>}
    </div>
  );
}

export interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: "text" | "number" | "search" | "password" | "datetime-local";
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly mono?: boolean;
  readonly min?: number;
  readonly step?: string;
  readonly list?: readonly string[];
  readonly autoFocus?: boolean;
  readonly pattern?: string;
}

export function TextField(props: TextFieldProps) {
  const { value, onInput, type = "text", label, hint, hideLabel, wide } = props;
  const shared = {
    label,
    ...(hint === undefined ? {} : { hint }),
    ...(hideLabel === undefined ? {} : { hideLabel }),
    ...(wide === undefined ? {} : { wide }),
  };
  const ref = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (props.autoFocus) ref.current?.focus();
  }, [props.autoFocus]);
  return (
    <Field {...shared}>
      {(id) => (
        <>
          <input
            id={id}
            ref={ref}
            type={type as "text"}
            value={value}
            class={props.mono ? "mono" : ""}
            placeholder={props.placeholder ?? ""}
            required={props.required ?? false}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => onInput(event.currentTarget.value)}
            {...(props.min === undefined ? {} : { min: props.min })}
            {...(props.step === undefined ? {} : { step: props.step })}
            {...(props.pattern === undefined ? {} : { pattern: props.pattern })}
            {...(props.list === undefined ? {} : { list: `${id}-list` })}
          />
          {props.list === undefined ? null : (
            <datalist id={`${id}-list`}>
              {props.list.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

export interface SelectFieldProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly (readonly [value: string, label: string])[];
}

export function SelectField({
  value,
  onChange,
  options,
  label,
  hint,
  hideLabel = false,
  wide = false,
}: SelectFieldProps) {
  return (
    <Field label={label} hideLabel={hideLabel} wide={wide} {...(hint === undefined ? {} : { hint })}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Check({
  label,
  checked,
  onChange,
}: {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (value: boolean) => void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
}
