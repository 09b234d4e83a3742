const prefix = '#/components/schemas/';

/** Returns the reference `#/components/schemas/<name>` to a component. */
export function referenceTo(name: string): string {
  return prefix + name;
}

/**
 * Returns the name of the component to which a reference `#/components/schemas/<name>` leads; undefined for any other
 * reference.
 */
export function referencedName(reference: string): string | undefined {
  return reference.startsWith(prefix) ? reference.slice(prefix.length) : undefined;
}
