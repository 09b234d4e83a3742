import type { AccountIssuer } from '../identity/accounts/account-issuer.ts';
import type { LoginProvider } from '../identity/login-provider.ts';
import { Administrator } from '../identity/administrator.ts';
import { administratorToken } from '../identity/administrator-token.ts';
import type { ConnectionAuthenticator } from '../identity/authenticator.ts';
import type { TokenAuthenticator } from '../identity/token-authenticator.ts';
import { ClientCertificates } from '../identity/certificates/client-certificates.ts';
import { JwtAuthenticator } from '../identity/jwt/jwt-authenticator.ts';
import { parseAuthenticationConfig } from '../identity/oidc/authentication-config.ts';
import { OidcIssuers } from '../identity/oidc/oidc-issuers.ts';
import { FollowedFile } from '../settings/followed-file.ts';
import type { Followed } from '../settings/followed-file.ts';
import { readSettingsText } from '../settings/settings-file.ts';
import type { SettingsText } from '../settings/settings-file.ts';
import { ListedTokens } from '../identity/tokens/listed-tokens.ts';
import { parseTokenFile } from '../identity/tokens/token-file.ts';
import type { Vault } from '../vault/vault.ts';
import type { Settings } from './api-server-options.ts';

/** The authenticators of a server. */
export interface Identities {
  /** Authenticates clients by their certificates; undefined when the server has no TLS. */
  readonly certificates: ConnectionAuthenticator | undefined;
  /**
   * The administrator whose token is in a file; undefined when no file is configured, when the options have a token, or
   * with auth `open`. The method `open` of Administrator must be called before the first request.
   */
  readonly administrator: Administrator | undefined;
  readonly tokens: readonly TokenAuthenticator[];
  /** Returns the OpenID Connect issuers at which people log in with a browser. */
  readonly logins: () => readonly LoginProvider[];
  /** The parts that start and stop with the server. */
  readonly followed: readonly Followed[];
}

export interface IdentityParts {
  readonly accountIssuer: AccountIssuer;
  readonly vault: Vault;
  /** True when other machines may serve the same database. */
  readonly isShared: boolean;
}

/**
 * Reads the files of credentials. Rejects with SettingsFileError when a file cannot be used. The error names the file
 * and, for invalid content, the line.
 */
export async function createIdentities(settings: Settings, parts: IdentityParts): Promise<Identities> {
  const { accountIssuer } = parts;
  const listed = await tokensOfFile(settings);
  const signed = await signedTokens(settings, accountIssuer);
  const administrator = createAdministrator(settings, parts);
  const own = settings.token === undefined ? [] : [administratorToken(settings.token)];
  return {
    certificates: settings.tls === undefined ? undefined : new ClientCertificates(settings.clock),
    administrator,
    // The authenticator of signed tokens comes first, because it rules out most other tokens by their first characters,
    // without a lookup.
    tokens: [...signed.tokens, ...own, ...(administrator === undefined ? [] : [administrator]), ...listed.tokens],
    logins: signed.logins,
    followed: [...listed.followed, ...signed.followed],
  };
}

function createAdministrator(
  { auth, token, administratorFile: file, logger }: Settings,
  { vault, isShared }: IdentityParts,
): Administrator | undefined {
  if (auth === 'open' || token !== undefined || file === undefined) return undefined;
  return new Administrator({ file, vault, isShared, logger });
}

type Part = Pick<Identities, 'tokens' | 'followed'>;

async function tokensOfFile({ tokenFile, clock, logger }: Settings): Promise<Part> {
  if (tokenFile === undefined) return { tokens: [], followed: [] };
  const file = await readSettingsText(tokenFile);
  const tokens = new ListedTokens(parseTokenFile(file));
  const apply = (next: SettingsText): void => tokens.replace(parseTokenFile(next));
  return { tokens: [tokens], followed: [new FollowedFile({ file, read: readSettingsText, apply, clock, logger })] };
}

type SignedPart = Part & Pick<Identities, 'logins'>;

/**
 * Returns the authenticator of signed tokens: those of service accounts, and those of the issuers in the file of
 * `--authentication-config`.
 */
async function signedTokens(settings: Settings, accountIssuer: AccountIssuer): Promise<SignedPart> {
  const { authenticationConfig, clock, logger } = settings;
  const tokens = new JwtAuthenticator(clock, [accountIssuer]);
  if (authenticationConfig === undefined) return { tokens: [tokens], followed: [], logins: () => [] };
  const issuers = new OidcIssuers({ clock, logger });
  const apply = (file: SettingsText): void => {
    const configs = parseAuthenticationConfig(file, accountIssuer.name);
    tokens.replace([accountIssuer, ...issuers.replace(configs)]);
  };
  const file = await readSettingsText(authenticationConfig);
  apply(file);
  await issuers.checkSecrets();
  return {
    tokens: [tokens],
    logins: () => issuers.logins,
    followed: [issuers, new FollowedFile({ file, read: readSettingsText, apply, clock, logger })],
  };
}
