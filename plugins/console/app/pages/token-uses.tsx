import { useEffect, useState } from 'preact/hooks';
import { isArray, isObject, textOf } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { nameOf, namespaceOf } from '../base/object.ts';
import { toFailure } from '../api/failure.ts';
import type { ApiFailure } from '../api/failure.ts';
import { Age, Card, Empty, Table, Text } from '../parts/basics.tsx';
import { objectsOf } from '../state/plugins.ts';
import { hrefOf } from '../state/route.ts';
import { api, auditEntries, may } from '../state/session.ts';
import { addressOf, AuditFailure, From } from './audit-page.tsx';

/**
 * The number of entries of the audit log that are read for a user, the newest first. It is the maximum that the server
 * returns in one response.
 */
const readEntries = 500;
const suggestedAccounts = 200;

interface TokenUse {
  /** The id of the token; empty for passwords, certificates and tokens without an id. */
  readonly id: string;
  readonly time: string;
  readonly address: string;
  readonly agent: string;
  readonly requests: number;
}

interface Uses {
  readonly user: string;
  readonly uses: readonly TokenUse[];
  /** False when the search ended before the oldest entry of the log, so that older uses may be missing in `uses`. */
  readonly isComplete: boolean;
}

/** Shows when each token of a user was last used, according to the audit log. */
export function TokenUses() {
  const [found, setFound] = useState<Uses>();
  const [failure, setFailure] = useState<ApiFailure>();
  const accounts = useAccounts();
  if (!may('list', auditEntries)) return null;
  const find = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const user = textOf(new FormData(event.currentTarget).get('user')).trim();
    try {
      setFound(await readUses(user));
      setFailure(undefined);
    } catch (error) {
      setFailure(toFailure(error));
    }
  };
  return (
    <Card title="When was a token used last?">
      <form class="filters" onSubmit={(event) => void find(event)}>
        <label class="filter filter-wide">
          <span>User or service account</span>
          <input name="user" required list="token-users" placeholder="system:serviceaccount:default:robot" />
        </label>
        <datalist id="token-users">
          {accounts.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <button class="button button-primary" type="submit">
          Find
        </button>
      </form>
      {failure === undefined ? null : <AuditFailure failure={failure} />}
      {found === undefined || failure !== undefined ? null : <Found found={found} />}
    </Card>
  );
}

/** Returns the user names of service accounts, as suggestions. */
function useAccounts(): readonly string[] {
  const [accounts, setAccounts] = useState<readonly string[]>([]);
  const isAllowed = may('list', { group: '', plural: 'serviceaccounts' }) && may('list', auditEntries);
  useEffect(() => {
    if (!isAllowed) return;
    const namesIn = (list: unknown): readonly string[] =>
      objectsOf(list).map((each) => `system:serviceaccount:${namespaceOf(each)}:${nameOf(each)}`);
    // If the service accounts cannot be read, the form suggests no names, but the user can still type a name.
    void api.get('/api/v1/serviceaccounts', { limit: suggestedAccounts }).then(
      (list) => setAccounts(namesIn(list)),
      () => undefined,
    );
  }, [isAllowed]);
  return accounts;
}

async function readUses(user: string): Promise<Uses> {
  const body = await api.get('/apis/api.audit.internal/v1/entries', { user, limit: readEntries });
  const entries = isObject(body) && isArray(body.items) ? body.items.filter(isObject) : [];
  const uses = new Map<string, TokenUse>();
  // The newest entry comes first, so the first entry with a token shows the last use of this token.
  for (const entry of entries) {
    // A request in which another user impersonated this user is skipped: it does not use this user's token.
    if (!isObject(entry.user) || entry.user.username !== user) continue;
    const id = credentialOf(entry.user);
    const known = uses.get(id);
    const address = addressOf(entry);
    const last = { id, time: textOf(entry.stageTimestamp), address, agent: textOf(entry.userAgent), requests: 0 };
    uses.set(id, { ...(known ?? last), requests: (known?.requests ?? 0) + 1 });
  }
  return { user, uses: [...uses.values()], isComplete: isObject(body) && body.complete === true };
}

/** The id of the token with which the user of an audit entry sent the request; empty when the entry has no such id. */
function credentialOf(user: JsonObject): string {
  const ids = isObject(user.extra) ? user.extra['authentication.kubernetes.io/credential-id'] : undefined;
  return isArray(ids) ? textOf(ids[0]).replace(/^JTI=/, '') : '';
}

function Found({ found: { user, uses, isComplete } }: { readonly found: Uses }) {
  if (uses.length === 0)
    return (
      <Empty title={isComplete ? 'No request of this user is in the audit log' : 'No recent request of this user'}>
        The audit log of this server has only requests that the audit policy records. The server deletes old log files.
      </Empty>
    );
  return (
    <>
      <Table label="Tokens" titles={['Token', 'Last use', 'From', 'Program', 'Requests']}>
        {uses.map(({ id, time, address, agent, requests }) => (
          <tr key={id}>
            <td>{id === '' ? <span class="muted">no id</span> : <code>{id}</code>}</td>
            <td>
              <Age time={time} />
            </td>
            <td>
              <From address={address} />
            </td>
            <td class="cell-long">
              {agent === '' ? <span class="muted">–</span> : <Text value={agent} length={80} />}
            </td>
            <td>{requests}</td>
          </tr>
        ))}
      </Table>
      <p class="muted">
        From the audit log of this server{isComplete ? '' : `, the newest ${readEntries} entries`}. Passwords,
        certificates and some tokens have no id. <a href={hrefOf(['audit'], { user })}>All requests of this user</a>
      </p>
    </>
  );
}
