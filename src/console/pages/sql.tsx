export function SqlPage({ ns }: { readonly ns: string }) {
  return <p>{ns}</p>;
}
