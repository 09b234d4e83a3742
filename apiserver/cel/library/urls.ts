import { overload } from '../types/declare-function.ts';
import type { Overload } from '../types/cel-function.ts';
import { CelError } from '../values/cel-error.ts';
import { ArrayList, CelObject, EntryMap } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import type { Comparable } from '../values/equals.ts';
import { objectAt, textAt } from './arguments.ts';

interface UrlParts {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

class CelUrl extends CelObject implements Comparable {
  readonly typeName = 'kubernetes.URL';
  readonly parts: UrlParts;

  constructor(parts: UrlParts) {
    super();
    this.parts = parts;
  }

  get identity(): string {
    return JSON.stringify(this.parts);
  }
}

/** The cost to parse a URL, in addition to the cost of its characters. */
const parseCost = 10;

/**
 * Returns the functions for URLs. As in Kubernetes, a URL either has a scheme, or is an absolute path. A URL such as
 * `mailto:a@b` has a scheme, but neither host nor path.
 */
export function urlOverloads(): readonly Overload[] {
  const partsAt = (args: readonly CelValue[]): UrlParts => objectAt(CelUrl, args, 0).parts;
  return [
    overload('url(string) kubernetes.URL', (args, meter) => {
      meter.add(parseCost);
      const parts = parseUrl(textAt(args, 0));
      if (parts === undefined)
        throw new CelError(
          `URL parse error during conversion from string: parse "${textAt(args, 0).slice(0, 64)}": invalid URI for request`,
        );
      return new CelUrl(parts);
    }),
    overload('isURL(string) bool', (args, meter) => {
      meter.add(parseCost);
      return parseUrl(textAt(args, 0)) !== undefined;
    }),
    overload('kubernetes.URL::getScheme() string', (args) => partsAt(args).scheme),
    overload('kubernetes.URL::getHost() string', (args) => partsAt(args).host),
    overload('kubernetes.URL::getHostname() string', (args) => splitHost(partsAt(args).host)[0]),
    overload('kubernetes.URL::getPort() string', (args) => splitHost(partsAt(args).host)[1]),
    overload('kubernetes.URL::getEscapedPath() string', (args) => partsAt(args).path),
    overload('kubernetes.URL::getQuery() map(string, list(string))', (args) => queryOf(partsAt(args).query)),
  ];
}

const urlForm = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?]*))?(\/[^?]*)?(?:\?(.*))?$/s;
const opaqueForm = /^([A-Za-z][A-Za-z0-9+.-]*):[^/?][^?]*(?:\?(.*))?$/s;
const pathForm = /^(\/[^?]*)(?:\?(.*))?$/s;
const hostForm = /^(?:[^@/]*@)?(?:\[[0-9A-Fa-f:.%]+\]|[^\s"#<>[\]^`{|}\\:]*)(?::\d*)?$/;

/**
 * Parses a URL; returns undefined when the text is not a URL. First checks the whole text as if `#` began no fragment:
 * `#` and the text after it are checked as a part of the host, path or query. Then returns the parts of the text before
 * `#`.
 */
function parseUrl(text: string): UrlParts | undefined {
  const [before = ''] = text.split('#', 1);
  return partsOf(text) === undefined ? undefined : partsOf(before);
}

function partsOf(text: string): UrlParts | undefined {
  // The pattern matches control characters, which the request line of HTTP may not contain.
  // oxlint-disable-next-line no-control-regex
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text)) return undefined;
  const [, scheme = '', authority = '', path = '', query = ''] =
    urlForm.exec(text) ?? opaque(text) ?? withoutHost(text) ?? [];
  if (scheme === '' && path === '') return undefined;
  if (!hostForm.test(authority) || /%(?![0-9A-Fa-f]{2})/.test(`${path}${authority}`)) return undefined;
  const escaped = path.replaceAll(/[^A-Za-z0-9\-_.~!$&'()*+,;=:@/%[\]]/gu, (found) => encodeURIComponent(found));
  return { scheme: scheme.toLowerCase(), host: authority.replace(/^[^@]*@/, ''), path: escaped, query };
}

function opaque(text: string): readonly string[] | undefined {
  const match = opaqueForm.exec(text);
  return match === null ? undefined : ['', match[1] ?? '', '', '', match[2] ?? ''];
}

function withoutHost(text: string): readonly string[] | undefined {
  const match = pathForm.exec(text);
  return match === null ? undefined : ['', '', '', match[1] ?? '', match[2] ?? ''];
}

function splitHost(host: string): readonly [name: string, port: string] {
  const [, name = '', port = ''] = /^(\[.*\]|[^:]*)(?::(\d*))?$/.exec(host) ?? [];
  return [name.replace(/^\[(.*)\]$/, '$1'), port];
}

function queryOf(query: string): EntryMap {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  const map = new EntryMap();
  for (const [name, found] of values) map.add(name, new ArrayList(found));
  return map;
}
