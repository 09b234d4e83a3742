// Derives the plural of a kind from its name, and names of files and variables from those of kinds, controllers and
// endpoints.

/** Returns the name of a kind's files: `WebSite` → `web-site`, `HTTPRoute` → `http-route`. */
export function kebabCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase();
}

/** Returns a name in camel case: `web-site` → `webSite`. */
export function camelCase(name: string): string {
  return name.replace(/-+([a-z0-9])/g, (_match, first: string) => first.toUpperCase());
}

/** Returns the English plural in lower case: `Greeting` → `greetings`, `Proxy` → `proxies`, `Address` → `addresses`. */
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}
