// Measures the processor time to find the user of a service account's token, as a server with 1,000 listed tokens does
// for each request. It also measures the least possible work: one digest of the token, and a look-up in a map.
import { hash } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { answerCalls } from '../processes/answer-calls.ts';
import type { Figures } from '../measure/figures.ts';
import { loadModule } from '../processes/server-modules.ts';

const modules = await Promise.all([
  loadModule('identity/authenticator'),
  loadModule('identity/administrator-token'),
  loadModule('identity/tokens/listed-tokens'),
  loadModule('identity/jwt/jwt-authenticator'),
  loadModule('identity/accounts/account-issuer'),
  loadModule('identity/accounts/signing-keys'),
]);
const [
  { Authenticator },
  { administratorToken },
  { ListedTokens },
  { JwtAuthenticator },
  { AccountIssuer },
  { SigningKeys },
] = modules;

const uid = '00000000-0000-4000-8000-000000000000';
const issuerName = 'https://homeostat.internal';

class OneAccount {
  readonly #uids = new Map([['default/robot', uid]]);

  uidOfAccount({ namespace, name }: { readonly namespace: string; readonly name: string }): string | undefined {
    return this.#uids.get(`${namespace}/${name}`);
  }

  uidOfObject(): undefined {
    return undefined;
  }

  kindOf(): undefined {
    return undefined;
  }
}

class OneKey {
  readonly #values = new Map<string, unknown>();
  #listener: (name: string) => void = () => undefined;

  get(name: string): unknown {
    return this.#values.get(name);
  }

  entries(): ReadonlyMap<string, unknown> {
    return this.#values;
  }

  async put(name: string, value: unknown): Promise<boolean> {
    this.#values.set(name, value);
    this.#listener(name);
    return true;
  }

  async delete(name: string): Promise<void> {
    this.#values.delete(name);
  }

  onChange(listener: (name: string) => void): () => void {
    this.#listener = listener;
    return () => undefined;
  }

  async reach(): Promise<void> {
    // Does nothing, because no other process writes to this vault.
  }
}

const issuer = new AccountIssuer({
  issuer: issuerName,
  keys: new SigningKeys({ vault: new OneKey(), clock: systemClock }),
  accounts: new OneAccount(),
  reach: async () => undefined,
  clock: systemClock,
  uuid: () => uid,
});
const account = { namespace: 'default', name: 'robot', uid };
const { token } = await issuer.issue({ account, bound: undefined, audiences: [], seconds: 3600 });

const owners = Array.from({ length: 1_000 }, (_each, index) => ({
  digest: hash('sha256', `token-${index.toString()}`, 'buffer'),
  user: { username: `user-${index.toString()}`, groups: [] },
}));
const authenticator = new Authenticator({
  tokens: [
    new JwtAuthenticator(systemClock, [issuer]),
    administratorToken('an-administrator-token'),
    new ListedTokens(owners),
  ],
  audience: issuerName,
});
if ((await authenticator.ofToken(token)) === undefined) throw new Error('the token is not accepted');

function repeat(count: number, find: () => unknown): Figures {
  const before = process.cpuUsage();
  for (let found = 0; found < count; found += 1) {
    const user = find();
    if (user === undefined || user instanceof Promise) throw new Error('the token is not in the cache');
  }
  const { user: ownUs, system: systemUs } = process.cpuUsage(before);
  const elapsedMs = (ownUs + systemUs) / 1000;
  return { opsPerSecond: (count / elapsedMs) * 1000, p50Ms: elapsedMs / count };
}

const users = new Map([[hash('sha256', token, 'base64'), account]]);

answerCalls({
  ours: (count: number) => repeat(count, () => authenticator.ofToken(token)),
  limit: (count: number) => repeat(count, () => users.get(hash('sha256', token, 'base64'))),
});
