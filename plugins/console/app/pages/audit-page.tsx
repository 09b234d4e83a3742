import { useEffect, useState } from 'preact/hooks';
import { isArray, isObject, textOf } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { browserClock } from '../base/time.ts';
import { toFailure } from '../api/failure.ts';
import type { ApiFailure } from '../api/failure.ts';
import { Age, Badge, Empty, Failure, Loading, PageHead, Table, Text } from '../parts/basics.tsx';
import { findKind } from '../state/kinds.ts';
import { objectHref, route, setQuery } from '../state/route.ts';
import { api } from '../state/session.ts';

const path = '/apis/api.audit.internal/v1/entries';

/** The parameters of the search whose values are texts. */
const fields = [
  { name: 'user', label: 'User', placeholder: 'any' },
  { name: 'verb', label: 'Verb', placeholder: 'create, patch, …' },
  { name: 'resource', label: 'Kind', placeholder: 'persons.example.com' },
  { name: 'name', label: 'Name', placeholder: 'any' },
  { name: 'namespace', label: 'Namespace', placeholder: 'all' },
  { name: 'code', label: 'Code', placeholder: '403' },
] as const;

const ages = { '15m': 900_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const;
const isAge = (text: string): text is keyof typeof ages => Object.hasOwn(ages, text);

interface Found {
  readonly items: readonly JsonObject[];
  readonly isComplete: boolean;
}

/** Reads a page of entries: those of the time `until` and earlier ones. */
async function search(query: URLSearchParams, until: string | undefined): Promise<Found> {
  const since = query.get('since') ?? '';
  const texts = Object.fromEntries(fields.map(({ name }) => [name, query.get(name) ?? '']));
  const sinceTime = isAge(since) ? new Date(browserClock.now() - ages[since]).toISOString() : '';
  const body = await api.get(path, { ...texts, since: sinceTime, until });
  const items = isObject(body) && isArray(body.items) ? body.items.filter(isObject) : [];
  return { items, isComplete: isObject(body) && body.complete === true };
}

const idOf = (entry: JsonObject): string => `${textOf(entry.auditID)} ${textOf(entry.stage)}`;

/** The page that searches the audit log. It shows the user, action, time, address and result of each request. */
export function AuditPage() {
  const { query } = route.value;
  const [found, setFound] = useState<Found>();
  const [failure, setFailure] = useState<ApiFailure>();
  const read = async (before?: Found): Promise<void> => {
    try {
      const last = before?.items.at(-1);
      const next = await search(query, last === undefined ? undefined : textOf(last.stageTimestamp));
      const known = new Set(before?.items.map(idOf));
      // Entries with the same time as the last entry of a page are also in the next page.
      const added = next.items.filter((entry) => !known.has(idOf(entry)));
      setFound({ items: [...(before?.items ?? []), ...added], isComplete: next.isComplete });
      setFailure(undefined);
    } catch (error) {
      setFailure(toFailure(error));
    }
  };
  const text = query.toString();
  useEffect(() => void read(), [text]);
  return (
    <div class="page">
      <PageHead title="Audit" />
      <SearchForm query={query} onSearch={() => void read()} />
      {failure === undefined ? null : <AuditFailure failure={failure} onRetry={() => void read()} />}
      {found === undefined && failure === undefined ? <Loading /> : null}
      {found === undefined ? null : <Entries found={found} />}
      {found === undefined || found.isComplete ? null : (
        <button type="button" class="button" onClick={() => void read(found)}>
          Older entries
        </button>
      )}
    </div>
  );
}

/** Shows why the audit log could not be read. A server without an audit log returns 404. */
export function AuditFailure(props: Parameters<typeof Failure>[0]) {
  if (props.failure.status !== 404) return <Failure {...props} />;
  return (
    <Empty title="This server keeps no audit log">
      Start it with <code>--audit-log &lt;file&gt;</code> to record who does what.
    </Empty>
  );
}

/** The form for the search. Its values are in the URL, so that a link shows the same search. */
function SearchForm({ query, onSearch }: { readonly query: URLSearchParams; readonly onSearch: () => void }) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const values = Object.fromEntries(
      [...new FormData(event.currentTarget)].map(([name, value]) => [name, textOf(value).trim()]),
    );
    const isSame = Object.entries(values).every(([name, value]) => (query.get(name) ?? '') === value);
    if (isSame) onSearch();
    else setQuery(values);
  };
  return (
    <form class="filters" role="search" onSubmit={submit}>
      {fields.map(({ name, label, placeholder }) => (
        <label key={name} class="filter">
          <span>{label}</span>
          <input name={name} placeholder={placeholder} defaultValue={query.get(name) ?? ''} />
        </label>
      ))}
      <label class="filter">
        <span>Time</span>
        <select name="since" defaultValue={query.get('since') ?? ''}>
          <option value="">any time</option>
          {Object.keys(ages).map((age) => (
            <option key={age} value={age}>
              last {age}
            </option>
          ))}
        </select>
      </label>
      <button class="button button-primary" type="submit">
        Search
      </button>
    </form>
  );
}

function Entries({ found: { items, isComplete } }: { readonly found: Found }) {
  if (items.length === 0)
    return (
      <Empty title={isComplete ? 'No entry matches' : 'None of the newest entries matches'}>
        <p>Set fewer conditions: for example only a user, and a longer time.</p>
      </Empty>
    );
  return (
    <Table label="Entries" titles={['Time', 'User', 'Verb', 'Object', 'Result', 'From']}>
      {items.map((entry) => (
        <Entry key={idOf(entry)} entry={entry} />
      ))}
    </Table>
  );
}

function Entry({ entry }: { readonly entry: JsonObject }) {
  const user = isObject(entry.user) ? textOf(entry.user.username) : '';
  const as = isObject(entry.impersonatedUser) ? textOf(entry.impersonatedUser.username) : '';
  const status = isObject(entry.responseStatus) ? entry.responseStatus : {};
  const code = typeof status.code === 'number' ? status.code : undefined;
  return (
    <tr>
      <td>
        <Age time={textOf(entry.stageTimestamp)} />
      </td>
      <td class="cell-long">
        <Text value={as === '' ? user || '–' : `${as} (by ${user})`} length={80} />
      </td>
      <td>
        <Text value={textOf(entry.verb)} length={40} />
      </td>
      <td class="cell-long">
        <What entry={entry} />
      </td>
      <td title={textOf(status.message)}>
        {code === undefined ? (
          textOf(entry.stage)
        ) : (
          <Badge tone={code < 400 ? 'good' : 'bad'}>{`${code} ${textOf(status.reason)}`.trim()}</Badge>
        )}
      </td>
      <td class="cell-short">
        <From address={addressOf(entry)} />
      </td>
    </tr>
  );
}

/** The addresses that a request came from; empty for a write of the server's own process. */
export function addressOf({ sourceIPs }: JsonObject): string {
  return isArray(sourceIPs) ? sourceIPs.map(textOf).join(', ') : '';
}

export function From({ address }: { readonly address: string }) {
  return address === '' ? <span class="muted">the server</span> : <Text value={address} length={60} />;
}

/**
 * Shows the object of a request, as a link if the console knows the kind. For a request without an object, shows the
 * path.
 */
function What({ entry }: { readonly entry: JsonObject }) {
  const ref = isObject(entry.objectRef) ? entry.objectRef : undefined;
  if (ref === undefined) return <Text value={textOf(entry.requestURI)} length={120} />;
  const group = textOf(ref.apiGroup);
  const key = group === '' ? textOf(ref.resource) : `${textOf(ref.resource)}.${group}`;
  const [namespace, name, part] = [textOf(ref.namespace), textOf(ref.name), textOf(ref.subresource)];
  const text = `${key}${part === '' ? '' : `/${part}`} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  if (name === '' || findKind(key) === undefined) return <Text value={text} length={120} />;
  return (
    <a href={objectHref(key, namespace, name)}>
      <Text value={text} length={120} />
    </a>
  );
}
