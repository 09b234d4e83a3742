const prefix = '#/components/schemas/';

/** `#/components/schemas/<name>`. */
export function referenceTo(name: string): string {
  return prefix + name;
}

/** The name of the component that a reference of this form points to; undefined for others. */
export function referencedName(reference: string): string | undefined {
  return reference.startsWith(prefix) ? reference.slice(prefix.length) : undefined;
}
