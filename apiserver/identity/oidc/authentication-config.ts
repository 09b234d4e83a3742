import { X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { SettingsFields } from '../../settings/fields.ts';
import { parseSettings } from '../../settings/settings-file.ts';
import type { SettingsText } from '../../settings/settings-file.ts';

/** A claim of a token, and the prefix that the server puts before its value to get the name of a user or a group. */
export interface ClaimMapping {
  readonly claim: string;
  readonly prefix: string;
}

/** The settings with which people log in at an issuer with a browser. This server is a client of the issuer. */
export interface LoginConfig {
  /** The name of the issuer in the URL paths of the login. */
  readonly name: string;
  /** The name that the login page shows. */
  readonly displayName: string;
  readonly clientId: string;
  /** The file with the secret of the client; undefined for a public client, which has no secret. */
  readonly clientSecretFile: string | undefined;
  readonly scopes: readonly string[];
}

/** An external issuer of tokens, and the claims from which users and groups are made. */
export interface IssuerConfig {
  readonly url: string;
  /** The URL of the discovery document, if it is not at the issuer's well-known path. */
  readonly discoveryUrl: string | undefined;
  /** The trusted certificate authorities, as PEM; undefined for those that the system trusts. */
  readonly certificateAuthority: string | undefined;
  readonly audiences: readonly string[];
  readonly username: ClaimMapping;
  readonly groups: ClaimMapping | undefined;
  readonly uid: string | undefined;
  readonly required: readonly { readonly claim: string; readonly value: string }[];
  /** The settings of the login; undefined for an issuer that is not on the login page. */
  readonly login: LoginConfig | undefined;
}

/** Kubernetes' limit. */
const maxIssuers = 64;

const apiVersions = ['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1'];

/**
 * Parses the file of `--authentication-config`: an AuthenticationConfiguration of Kubernetes, without the parts that
 * are written in CEL. `ownIssuer` is the issuer of service accounts' tokens, which the file may not name.
 * @throws SettingsFileError that names file and line
 */
export function parseAuthenticationConfig(file: SettingsText, ownIssuer: string): readonly IssuerConfig[] {
  const config = parseSettings(file).withKeys(['apiVersion', 'kind', 'jwt']);
  if (!apiVersions.includes(config.text('apiVersion')))
    throw config.mistake('apiVersion', `must be ${apiVersions.join(' or ')}`);
  if (config.text('kind') !== 'AuthenticationConfiguration')
    throw config.mistake('kind', 'must be AuthenticationConfiguration');
  const items = config.items('jwt');
  if (items.length > maxIssuers) throw config.mistake('jwt', `must have at most ${maxIssuers} issuers`);
  const seen = new Set([ownIssuer]);
  const names = new Set<string>();
  return items.map((item, index) => {
    const issuer = readIssuer(item, file.path);
    if (seen.has(issuer.url)) throw config.mistake(`jwt[${index}].issuer.url`, 'is taken by another issuer');
    seen.add(issuer.url);
    const name = issuer.login?.name;
    if (name === undefined) return issuer;
    if (names.has(name)) throw config.mistake(`jwt[${index}].browserLogin.name`, 'is taken by another issuer');
    names.add(name);
    return issuer;
  });
}

function readIssuer(item: SettingsFields, path: string): IssuerConfig {
  item.withKeys(['issuer', 'claimValidationRules', 'claimMappings', 'browserLogin']);
  const issuer = required(item, 'issuer');
  issuer.withKeys(['url', 'discoveryURL', 'certificateAuthority', 'audiences', 'audienceMatchPolicy']);
  const audiences = issuer.texts('audiences');
  if (audiences.length === 0) throw issuer.mistake('audiences', 'must name at least one audience');
  const policy = issuer.optionalText('audienceMatchPolicy') ?? 'MatchAny';
  if (policy !== 'MatchAny') throw issuer.mistake('audienceMatchPolicy', 'must be MatchAny');
  const mappings = required(item, 'claimMappings').withKeys(['username', 'groups', 'uid']);
  const groups = mappings.child('groups');
  return {
    url: httpsUrl(issuer, 'url', issuer.text('url')),
    discoveryUrl: issuer.has('discoveryURL')
      ? httpsUrl(issuer, 'discoveryURL', issuer.text('discoveryURL'))
      : undefined,
    certificateAuthority: readAuthority(issuer),
    audiences,
    username: readMapping(required(mappings, 'username')),
    groups: groups === undefined ? undefined : readMapping(groups),
    uid: mappings.child('uid')?.withKeys(['claim']).text('claim'),
    required: item.items('claimValidationRules').map((rule) => {
      rule.withKeys(['claim', 'requiredValue']);
      return { claim: rule.text('claim'), value: rule.text('requiredValue') };
    }),
    login: readLogin(item.child('browserLogin'), path),
  };
}

/** Matches a valid name of a login. The name is a part of the redirect URI that is registered at the issuer. */
const nameForm = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Matches a scope token of RFC 6749, 3.3. */
const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/;

/** Reads the settings of the login. Kubernetes' format does not have them, because its server has no pages. */
function readLogin(login: SettingsFields | undefined, path: string): LoginConfig | undefined {
  if (login === undefined) return undefined;
  login.withKeys(['name', 'displayName', 'clientID', 'clientSecretFile', 'scopes']);
  const name = login.text('name');
  if (!nameForm.test(name))
    throw login.mistake('name', 'must have 1 to 63 characters of a-z, 0-9 and -, and not begin or end with -');
  const displayName = shortText(login, 'displayName', login.optionalText('displayName') ?? name);
  const clientId = shortText(login, 'clientID', login.text('clientID'));
  const secret = login.optionalText('clientSecretFile');
  if (secret === '') throw login.mistake('clientSecretFile', 'must be the path of a file');
  const scopes = login.has('scopes') ? login.texts('scopes') : ['profile', 'email'];
  const wrong = scopes.findIndex((scope) => !scopeForm.test(scope));
  if (wrong !== -1)
    throw login.mistake(
      `scopes[${wrong}]`,
      'must be a scope: 1 to 100 printable ASCII characters, without spaces, double quotes and backslashes',
    );
  return {
    name,
    displayName,
    clientId,
    clientSecretFile: secret === undefined ? undefined : resolve(dirname(path), secret),
    scopes: [...new Set(['openid', ...scopes])],
  };
}

function shortText(fields: SettingsFields, name: string, text: string): string {
  if (text.length > 0 && text.length <= 200 && !/\p{C}/u.test(text)) return text;
  throw fields.mistake(
    name,
    'must have 1 to 200 characters, without control characters and other invisible characters',
  );
}

function readMapping(mapping: SettingsFields): ClaimMapping {
  mapping.withKeys(['claim', 'prefix']);
  const claim = mapping.text('claim');
  if (claim === '') throw mapping.mistake('claim', 'must not be empty');
  // As in Kubernetes, the prefix is required: the file must set it to '' if there is no prefix.
  return { claim, prefix: mapping.text('prefix') };
}

function required(fields: SettingsFields, name: string): SettingsFields {
  const child = fields.child(name);
  if (child === undefined) throw fields.mistake(name, 'is required');
  return child;
}

function httpsUrl(fields: SettingsFields, name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' && url.username + url.password + url.search + url.hash === '') return text;
  throw fields.mistake(
    name,
    'must be an HTTPS URL such as https://issuer.example.com, without user, query and fragment',
  );
}

function readAuthority(issuer: SettingsFields): string | undefined {
  const pem = issuer.optionalText('certificateAuthority');
  if (pem === undefined) return undefined;
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length > 0 && blocks.every(isCertificate)) return blocks.join('\n');
  throw issuer.mistake('certificateAuthority', 'must be CA certificates in PEM');
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).ca;
  } catch {
    return false;
  }
}
