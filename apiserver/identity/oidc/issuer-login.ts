import { createHash } from 'node:crypto';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { Clock, JsonObject } from '@homeostat/controller-runtime/api';
import * as client from 'openid-client';
import { LoginFailure } from '../login-provider.ts';
import type { BegunLogin, LoginProvider, ReturnedLogin } from '../login-provider.ts';
import { readSecret } from '../../settings/settings-file.ts';
import type { UserInfo } from '../user-info.ts';
import type { IssuerConfig, LoginConfig } from './authentication-config.ts';
import { sendHttps } from './https-request.ts';
import type { IssuerKeys, IssuerMetadata } from './issuer-keys.ts';
import type { OidcIssuer } from './oidc-issuer.ts';

/** Matches a text that may be logged, because it has the form of an error code of RFC 6749. */
const codeForm = /^[a-z_]{1,40}$/;

/**
 * The error codes of openid-client for a broken endpoint of the issuer. The browser's parameters cannot cause these
 * errors.
 */
const brokenEndpoint: ReadonlySet<string> = new Set([
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);

export interface IssuerLoginParts {
  readonly config: IssuerConfig;
  readonly login: LoginConfig;
  readonly issuer: OidcIssuer;
  readonly keys: IssuerKeys;
  readonly clock: Clock;
}

/**
 * A login by the authorization code flow of OpenID Connect, with PKCE, state and nonce. openid-client checks the
 * responses. The signature and the times of the ID token are checked by the same code as those of bearer tokens.
 */
export class IssuerLogin implements LoginProvider {
  readonly #parts: IssuerLoginParts;
  readonly settingsId: string;

  constructor(parts: IssuerLoginParts) {
    this.#parts = parts;
    const { config, login } = parts;
    const settings = { ...config, login: { ...login, displayName: undefined } };
    this.settingsId = createHash('sha256').update(JSON.stringify(settings)).digest('hex');
  }

  get name(): string {
    return this.#parts.login.name;
  }

  get displayName(): string {
    return this.#parts.login.displayName;
  }

  /**
   * Checks the file of the client secret, if there is one. Rejects with SettingsFileError when it cannot be read or has
   * no secret.
   */
  async checkSecret(): Promise<void> {
    const { clientSecretFile } = this.#parts.login;
    if (clientSecretFile !== undefined) await readSecret(clientSecretFile);
  }

  async begin(redirectUri: string): Promise<BegunLogin> {
    const configuration = await this.#configure();
    const verifier = client.randomPKCECodeVerifier();
    const secrets = { state: client.randomState(), nonce: client.randomNonce(), verifier };
    const { state, nonce } = secrets;
    const parameters = {
      redirect_uri: redirectUri,
      scope: this.#parts.login.scopes.join(' '),
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    };
    try {
      return { location: client.buildAuthorizationUrl(configuration, parameters).href, secrets };
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  async finish({ redirectUri, querystring, secrets }: ReturnedLogin): Promise<UserInfo> {
    const configuration = await this.#configure();
    const { state, nonce, verifier } = secrets;
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    const url = new URL(`${redirectUri}?${querystring}`);
    const tokens = await client.authorizationCodeGrant(configuration, url, checks).catch((error: unknown) => {
      throw this.#failureOf(error);
    });
    const { issuer, login } = this.#parts;
    const user = await issuer.userOfIdToken(tokens.id_token ?? '', login.clientId);
    if (user === undefined)
      throw this.#failure('no user', 'the ID token could not be verified, or its claims do not give a valid user');
    return user;
  }

  async #configure(): Promise<client.Configuration> {
    const { config, keys, login, clock } = this.#parts;
    const metadata = await keys.metadata();
    if (metadata === undefined) throw this.#failure('unavailable', 'the discovery document cannot be fetched');
    const settings = { [client.clockTolerance]: Number.MAX_SAFE_INTEGER };
    const secret = login.clientSecretFile === undefined ? undefined : await this.#readSecret(login.clientSecretFile);
    const authentication = authenticationBy(secret, metadata);
    const configuration = new client.Configuration(
      metadata as client.ServerMetadata,
      login.clientId,
      settings,
      authentication,
    );
    // openid-client needs no time limit, because {@link sendHttps} has one.
    configuration.timeout = undefined;
    configuration[client.customFetch] = async (url, { method, headers, body }) => {
      if (body !== undefined && body !== null && !(body instanceof URLSearchParams) && typeof body !== 'string')
        throw new TypeError('the body of a request to an issuer must be a form');
      const message = { method, headers, ...(body === undefined || body === null ? {} : { body: body.toString() }) };
      const options = { clock, ca: config.certificateAuthority };
      const { status, type, text } = await sendHttps(url, options, message);
      return new Response(text, { status, headers: { 'content-type': type } });
    };
    return configuration;
  }

  /** Reads the client secret from its file at each login, so that a new secret needs no restart. */
  async #readSecret(path: string): Promise<string> {
    try {
      return await readSecret(path);
    } catch (error) {
      throw this.#failure('unavailable', error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * Converts an error to a LoginFailure. Errors of openid-client may quote the request, with its secrets, so the
   * message of the LoginFailure contains only the issuer's URL, constant texts and error codes.
   */
  #failureOf(error: unknown): LoginFailure {
    if (error instanceof client.AuthorizationResponseError)
      return this.#failure('refused', `the issuer responded with the error ${codeOf(error.error)}`);
    if (error instanceof client.ResponseBodyError) {
      const reason = error.error === 'invalid_grant' ? 'invalid' : 'unavailable';
      return this.#failure(reason, `the token endpoint responded with the error ${codeOf(error.error)}`);
    }
    const { code, cause }: JsonObject = isJsonObject(error) ? error : {};
    const causeCode = isJsonObject(cause) ? cause['code'] : undefined;
    if (typeof code === 'string' && !brokenEndpoint.has(code))
      return this.#failure('invalid', `the response of the issuer is wrong: ${code}`);
    const problem = [code, causeCode].find((each) => typeof each === 'string') ?? 'no response';
    return this.#failure('unavailable', `a request to the issuer failed: ${problem}`);
  }

  #failure(reason: LoginFailure['reason'], problem: string): LoginFailure {
    return new LoginFailure(`${this.#parts.config.url}: ${problem}`, reason);
  }
}

function codeOf(code: string): string {
  return codeForm.test(code) ? code : '(unknown)';
}

/**
 * Returns how this server authenticates as a client of the issuer. The default of OpenID Connect is HTTP Basic
 * authentication. An issuer may declare that it accepts the secret only in the request's body (`client_secret_post`).
 */
function authenticationBy(secret: string | undefined, metadata: IssuerMetadata): client.ClientAuth {
  if (secret === undefined) return client.None();
  const methods: unknown = metadata['token_endpoint_auth_methods_supported'];
  const isPostOnly =
    Array.isArray(methods) && !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
  return isPostOnly ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret);
}
