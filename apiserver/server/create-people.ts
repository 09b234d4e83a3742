import type { IncomingMessage } from 'node:http';
import { userKind } from '../builtin/user-kind.ts';
import { TrustedProxies } from '../http/request/trusted-proxies.ts';
import type { SessionFinder } from '../identity/authenticator.ts';
import type { LoginProvider } from '../identity/login-provider.ts';
import { People } from '../people/people.ts';
import type { PeopleParts } from '../people/people.ts';
import { SessionAuthenticator } from '../people/session-authenticator.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Vault } from '../vault/vault.ts';
import type { Settings } from './api-server-options.ts';

interface PeopleSources {
  readonly providers: () => readonly LoginProvider[];
  readonly table: ResourceTable;
  readonly vault: Vault;
  readonly ofToken: PeopleParts['ofToken'];
}

/** The people who log in. */
export function createPeople({ serviceDomain, clock, logger }: Settings, { table, ...sources }: PeopleSources): People {
  return new People({ users: table.getterOf(userKind(serviceDomain)), clock, logger, ...sources });
}

/** Finds the users of session cookies. */
export function sessionsOf({ trustedProxies }: Settings, people: People): SessionFinder {
  const proxies = new TrustedProxies(trustedProxies);
  const isSecure = (req: IncomingMessage): boolean =>
    proxies.schemeOf({ req, get: (header) => String(req.headers[header.toLowerCase()] ?? '') }) === 'https';
  return new SessionAuthenticator({ people, isSecure });
}
