export function SearchPage({ ns }: { readonly ns: string }) {
  return <p>{ns}</p>;
}
