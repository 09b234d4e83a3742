import { computed, signal } from '@preact/signals';

/** The content of the URL's fragment: the segments of the path behind `#/`, and a query. */
export interface Route {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
});

/** The route of a fragment such as `#/kinds/persons.people.example.com?sort=metadata.name,asc`. */
function parseRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#?\/?/, '').split('?', 2);
  const segments = path === '' ? [] : path.split('/').map(decode);
  return { segments, query: new URLSearchParams(query) };
}

/** Decodes a segment. A segment with an invalid percent-encoding stays unchanged: people also type URLs by hand. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const route = computed(() => parseRoute(hash.value));

/** The namespace that the page is about; empty if the page is not about a namespace. */
export const pageNamespace = computed(() => {
  const { segments, query } = route.value;
  const [page, , namespace = ''] = segments;
  if (page === 'objects') return namespace === '-' ? '' : namespace;
  return page === 'kinds' ? (query.get('ns') ?? '') : '';
});

/** The fragment of a route; empty values of the query are left out. */
export function hrefOf(segments: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== '') params.set(key, value);
  const text = params.toString();
  return `#/${segments.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

/** Opens a page. With `replace`, the back button skips the page that was open before. */
export function go(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  hash.value = location.hash;
}

/** Changes values of the query in the current address; an empty text removes a value. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const { segments, query } = route.value;
  go(hrefOf(segments, { ...Object.fromEntries(query), ...changes }), { replace: true });
}

export const kindHref = (key: string, query: Readonly<Record<string, string>> = {}): string =>
  hrefOf(['kinds', key], query);

/** The address of the page that creates an object; `name` is the initial name. */
export const createHref = (key: string, name = ''): string => hrefOf(['create', key], { name });

/**
 * The address of the page of one object. For an object without a namespace, the segment of the namespace is `-`, which
 * is not a valid namespace.
 */
export function objectHref(key: string, namespace: string, name: string, tab = ''): string {
  return hrefOf(['objects', key, namespace === '' ? '-' : namespace, name], { tab });
}
