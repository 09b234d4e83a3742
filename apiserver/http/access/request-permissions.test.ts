import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { ApiError } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { Context } from 'koa';
import type { Attributes } from '../../authorization/attributes.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import { setCaller, setImpersonated } from '../request/request-state.ts';
import { RequestPermissions } from './request-permissions.ts';

const list: Attributes = { isResource: true, verb: 'list', group: '', version: 'v1', resource: 'namespaces' };
const page: Attributes = { isResource: false, verb: 'get', path: '/export' };
const ada: UserInfo = { username: 'ada', groups: [] };

/** An authorizer that allows the actions in a set. Each action is written as `<user> <verb>`. */
class Rights {
  readonly #texts = new Set<string>();
  readonly #listeners = new Set<() => void>();

  constructor(...texts: readonly string[]) {
    for (const text of texts) this.#texts.add(text);
  }

  decide({ username }: UserInfo, { verb }: Attributes): { allowed: boolean; reason: string } {
    return { allowed: this.#texts.has(`${username} ${verb}`), reason: '' };
  }

  rulesFor(): readonly never[] {
    return [];
  }

  reach(): undefined {
    return undefined;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  withdraw(text: string): void {
    this.#texts.delete(text);
    for (const listener of this.#listeners) listener();
  }
}

function contextOf(user: UserInfo): Context {
  const req = { headers: { authorization: user.username } };
  const context = { state: {}, req, res: new EventEmitter() } as unknown as Context;
  setCaller(context, user);
  return context;
}

describe('the permissions of open requests', () => {
  const clock = new FakeClock();
  /** The users whose credentials are currently valid. */
  let known: Map<string, UserInfo>;
  const authenticator = {
    ofRequest: ({ headers }: IncomingMessage): UserInfo | undefined => known.get(String(headers.authorization)),
  };

  beforeEach(() => {
    known = new Map([
      ['ada', ada],
      ['eve', { username: 'eve', groups: [] }],
    ]);
  });

  /** Keeps a request open. Returns the list to which the reason is added when the request is ended. */
  function open(permissions: RequestPermissions, context: Context): string[] {
    const ends: string[] = [];
    permissions.keepOpen(context, ({ code, message }: ApiError) => void ends.push(`${code} ${message}`));
    return ends;
  }

  it('end a request when one of its permissions is withdrawn, and do not affect other requests', async () => {
    const rights = new Rights('ada list', 'ada get', 'eve list');
    const permissions = new RequestPermissions({ authenticator, authorizer: rights, clock });
    const [first, second, third] = [contextOf(ada), contextOf(ada), contextOf({ username: 'eve', groups: [] })];
    permissions.require(first, list);
    permissions.require(second, page);
    permissions.require(third, list);
    const ends = [first, second, third].map((context) => open(permissions, context));
    rights.withdraw('ada list');
    await eventually(() => expect(ends[0]).to.have.length(1));
    expect(ends[0]?.[0]).to.match(/^403 namespaces is forbidden: User "ada" cannot list resource "namespaces"/);
    expect(ends.slice(1)).to.deep.equal([[], []]);
    rights.withdraw('ada get');
    await eventually(() => expect(ends[1]).to.have.length(1));
    expect(ends[0]).to.have.length(1);
  });

  it('end an impersonating request when its permission to impersonate is withdrawn', async () => {
    const rights = new Rights('ada impersonate', 'eve list');
    const permissions = new RequestPermissions({ authenticator, authorizer: rights, clock });
    const context = contextOf(ada);
    permissions.require(context, { ...list, verb: 'impersonate', resource: 'users', name: 'eve' });
    setImpersonated(context, { username: 'eve', groups: [] });
    permissions.require(context, list);
    const ends = open(permissions, context);
    rights.withdraw('ada impersonate');
    await eventually(() => expect(ends).to.have.length(1));
    expect(ends[0]).to.include('User "ada" cannot impersonate resource "users"');
  });

  it('refuse to keep a request open after its permission was withdrawn, and forget closed requests', async () => {
    const rights = new Rights('ada list');
    const permissions = new RequestPermissions({ authenticator, authorizer: rights, clock });
    const [late, closed] = [contextOf(ada), contextOf(ada)];
    permissions.require(late, list);
    permissions.require(closed, list);
    const ends = open(permissions, closed);
    closed.res.emit('close');
    rights.withdraw('ada list');
    expect(() => open(permissions, late)).to.throw(/User "ada" cannot list/);
    expect(() => permissions.require(late, list)).to.throw(/User "ada" cannot list/);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends).to.deep.equal([]);
  });

  it('do not end a request whose client had disconnected before keepOpen was called', async () => {
    const rights = new Rights('ada list');
    const permissions = new RequestPermissions({ authenticator, authorizer: rights, clock });
    const context = contextOf(ada);
    permissions.require(context, list);
    Object.assign(context.res, { closed: true });
    const ends = open(permissions, context);
    rights.withdraw('ada list');
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends).to.deep.equal([]);
  });

  it('end a request at most two seconds after its credential has expired', async () => {
    const [rights, ownClock] = [new Rights('ada list'), new FakeClock()];
    const permissions = new RequestPermissions({ authenticator, authorizer: rights, clock: ownClock });
    let isValid = true;
    const context = contextOf({ ...ada, isValid: () => isValid });
    permissions.require(context, list);
    const ends = open(permissions, context);
    await ownClock.advance(10_000);
    expect(ends).to.deep.equal([]);
    isValid = false;
    await ownClock.advance(2000);
    expect(ends).to.deep.equal(['401 Unauthorized']);
    await ownClock.advance(10_000);
    expect(ends).to.have.length(1);
    expect(() => open(permissions, context)).to.throw('Unauthorized');
  });

  it('end a request when a new authentication fails or returns another user or other groups', async () => {
    for (const next of [undefined, { ...ada, groups: ['staff'] }, { username: 'bob', groups: [] }]) {
      const [rights, ownClock] = [new Rights('ada list'), new FakeClock()];
      const permissions = new RequestPermissions({ authenticator, authorizer: rights, clock: ownClock });
      known.set('ada', ada);
      const context = contextOf(ada);
      permissions.require(context, list);
      const ends = open(permissions, context);
      known.set('ada', { ...ada });
      await ownClock.advance(4000);
      expect(ends).to.deep.equal([]);
      if (next === undefined) known.delete('ada');
      else known.set('ada', next);
      await ownClock.advance(2000);
      expect(ends).to.deep.equal(['401 Unauthorized']);
      expect(ownClock.pendingTimers).to.equal(0);
    }
  });

  it('endOf ends the open requests of the selected users, but not those of other users', () => {
    const permissions = new RequestPermissions({
      authenticator,
      authorizer: new Rights('ada list', 'eve list'),
      clock,
    });
    const [own, acting] = [contextOf(ada), contextOf({ username: 'eve', groups: [] })];
    permissions.require(own, list);
    permissions.require(acting, list);
    const ends = [open(permissions, own), open(permissions, acting)];
    permissions.endOf(({ username }) => username === 'ada');
    expect(ends).to.deep.equal([['401 Unauthorized'], []]);
  });
});
