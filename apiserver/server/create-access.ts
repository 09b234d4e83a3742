import { followRoles } from '../authorization/rbac/follow-roles.ts';
import { RbacAuthorizer } from '../authorization/rbac-authorizer.ts';
import type { AccountIssuer } from '../identity/accounts/account-issuer.ts';
import type { Administrator } from '../identity/administrator.ts';
import { Authenticator } from '../identity/authenticator.ts';
import type { Followed } from '../settings/followed-file.ts';
import { anonymous, developer } from '../identity/user-info.ts';
import type { People } from '../people/people.ts';
import type { Settings } from './api-server-options.ts';
import { createAccountIssuer } from './create-account-issuer.ts';
import type { AccountParts } from './create-account-issuer.ts';
import { createIdentities } from './create-identities.ts';
import { createPeople, sessionsOf } from './create-people.ts';

/** Decides who sends a request, and whether that user may make it. */
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

export interface AccessParts extends AccountParts {
  /** True when other machines may serve the same database. */
  readonly isShared: boolean;
}

/** Rejects with SettingsFileError when a file of credentials cannot be used. */
export async function createAccess(settings: Settings, parts: AccessParts): Promise<Access> {
  const accountIssuer = createAccountIssuer(settings, parts);
  const identities = await createIdentities(settings, { ...parts, accountIssuer });
  const { certificates, tokens, followed, administrator, logins } = identities;
  const ofToken = (token: string): ReturnType<Authenticator['ofToken']> => authenticator.ofToken(token);
  const { table, vault } = parts;
  const people = createPeople(settings, { table, vault, providers: logins, ofToken });
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
  const authorizer = new RbacAuthorizer(() => parts.revisions.reach(undefined));
  followRoles(parts.table, authorizer);
  return { authenticator, authorizer, accountIssuer, people, administrator, followed: [...followed, people] };
}
