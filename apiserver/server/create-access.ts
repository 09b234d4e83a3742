import type { IncomingMessage } from 'node:http';
import { followRoles } from '../authorization/rbac/follow-roles.ts';
import { RbacAuthorizer } from '../authorization/rbac-authorizer.ts';
import { userKind } from '../builtin/user-kind.ts';
import { TrustedProxies } from '../http/request/trusted-proxies.ts';
import { AccountIssuer } from '../identity/accounts/account-issuer.ts';
import { AccountLookup } from '../identity/accounts/account-lookup.ts';
import { SigningKeys } from '../identity/accounts/signing-keys.ts';
import type { Administrator } from '../identity/administrator.ts';
import { Authenticator } from '../identity/authenticator.ts';
import type { SessionFinder } from '../identity/authenticator.ts';
import { anonymous, developer } from '../identity/user-info.ts';
import { People } from '../people/people.ts';
import { SessionAuthenticator } from '../people/session-authenticator.ts';
import type { Revisions } from '../registry/history/revisions.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Followed } from '../settings/followed-file.ts';
import type { Vault } from '../vault/vault.ts';
import type { Settings } from './api-server-options.ts';
import { createIdentities } from './create-identities.ts';

/** Finds the user of a request, and decides whether the user may make it. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly authorizer: RbacAuthorizer;
  readonly people: People;
  readonly administrator: Administrator | undefined;
  /** Signs the tokens of service accounts. */
  readonly accountIssuer: AccountIssuer;
  /** The parts that start and stop with the server. */
  readonly followed: readonly Followed[];
}

export interface AccessParts {
  readonly table: ResourceTable;
  readonly revisions: Revisions;
  readonly vault: Vault;
  /** True when other machines may serve the same database. */
  readonly isShared: boolean;
}

/**
 * Creates the parts that find users and check their permissions. Rejects with SettingsFileError when a file of
 * credentials cannot be used.
 */
export async function createAccess(settings: Settings, parts: AccessParts): Promise<Access> {
  const { table, revisions, vault } = parts;
  const { serviceDomain, clock, logger } = settings;
  const accountIssuer = createAccountIssuer(settings, parts);
  const identities = await createIdentities(settings, { ...parts, accountIssuer });
  const { certificates, tokens, followed, administrator, logins: providers } = identities;
  const ofToken = (token: string): ReturnType<Authenticator['ofToken']> => authenticator.ofToken(token);
  const users = table.getterOf(userKind(serviceDomain));
  const people = new People({ users, clock, logger, vault, providers, ofToken });
  const open = settings.auth === 'open' ? { everybody: developer } : {};
  const stranger = settings.anonymousAuth ? { fallback: anonymous } : {};
  const sessions = sessionsOf(settings, people);
  const authenticator: Authenticator = new Authenticator({
    certificates,
    tokens,
    sessions,
    audience: accountIssuer.name,
    ...open,
    ...stranger,
  });
  const authorizer = new RbacAuthorizer(() => revisions.reach(undefined));
  followRoles(table, authorizer);
  return { authenticator, authorizer, accountIssuer, people, administrator, followed: [...followed, people] };
}

/** Creates the part that signs the tokens of service accounts, and finds the users of these tokens. */
function createAccountIssuer(
  { serviceAccountIssuer, serviceDomain, clock, uuid }: Settings,
  { table, revisions, vault }: AccessParts,
): AccountIssuer {
  return new AccountIssuer({
    issuer: serviceAccountIssuer ?? `https://${serviceDomain}`,
    keys: new SigningKeys({ vault, clock }),
    accounts: new AccountLookup(table),
    reach: async () => revisions.reach(undefined),
    clock,
    uuid,
  });
}

/** Returns the part that finds the users of session cookies. */
function sessionsOf({ trustedProxies }: Settings, people: People): SessionFinder {
  const proxies = new TrustedProxies(trustedProxies);
  const isSecure = (req: IncomingMessage): boolean =>
    proxies.schemeOf({ req, get: (header) => String(req.headers[header.toLowerCase()] ?? '') }) === 'https';
  return new SessionAuthenticator({ people, isSecure });
}
