// The process of a TokenIssuer: an OpenID Connect issuer with its own HTTPS address. The parent process controls it by
// IPC.
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import type { CryptoKey, JWK, JWTPayload } from 'jose';
import type { IssuerFault, IssuerOrder, IssuerReply } from './token-issuer.ts';

interface Key {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** The login that an authorization code identifies. */
interface Grant {
  readonly claims: object;
  readonly nonce: string;
  readonly challenge: string;
  readonly redirectUri: string;
  readonly clientId: string;
}

const asked: string[] = [];
const grants = new Map<string, Grant>();
let keys: readonly Key[] = [];
/** The entries that the issuer publishes in its JWKS (the list of its public keys) in addition to `keys`. */
let more: readonly unknown[] = [];
let fault: IssuerFault | undefined;
/** The claims of the person who logs in. */
let person: object = {};
let client = { id: 'homeostat', secret: '' };

const faults: Readonly<Record<IssuerFault, (response: ServerResponse) => void>> = {
  silent: () => undefined,
  'of another issuer': (response) => response.end(JSON.stringify({ issuer: 'x', jwks_uri: `${url()}/keys` })),
  'no JSON': (response) => response.end('{'),
  null: (response) => response.end('null'),
  'keys over plain HTTP': (response) => response.end(JSON.stringify({ issuer: url(), jwks_uri: 'http://x/keys' })),
  'a redirect': (response) => response.writeHead(302, { location: 'https://127.0.0.1:9/' }).end(),
  'an error': (response) => response.writeHead(500).end('a secret trace'),
  'without end': (response) => {
    const chunk = Buffer.alloc(64 * 1024, ' ');
    const next = (): void => void (response.write(chunk) ? setImmediate(next) : response.once('drain', next));
    response.on('error', () => undefined);
    next();
  },
};

const [, , pem = ''] = process.argv;
const server = createServer({ key: pem, cert: pem }, (request, response) => void answer(request, response));

function url(): string {
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', url());
  asked.push(pathname);
  if (fault !== undefined) return faults[fault](response);
  if (pathname === '/authorize') return authorize(searchParams, response);
  if (pathname === '/token') return sendToken(request, response);
  const documents: Readonly<Record<string, object>> = {
    '/.well-known/openid-configuration': {
      issuer: url(),
      jwks_uri: `${url()}/keys`,
      authorization_endpoint: `${url()}/authorize`,
      token_endpoint: `${url()}/token`,
      id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    },
    '/keys': { keys: [...keys.map(({ publicJwk }) => publicJwk), ...more] },
  };
  const document = documents[pathname];
  response.statusCode = document === undefined ? 404 : 200;
  response.end(JSON.stringify(document ?? {}));
}

/** Redirects the browser back at once, as if the person had agreed already. */
function authorize(query: URLSearchParams, response: ServerResponse): void {
  const redirectUri = query.get('redirect_uri') ?? '';
  const back = new URL(redirectUri);
  back.searchParams.set('state', query.get('state') ?? '');
  const isRight =
    query.get('code_challenge_method') === 'S256' && (query.get('scope') ?? '').split(' ').includes('openid');
  if (!isRight || query.get('response_type') !== 'code') back.searchParams.set('error', 'invalid_request');
  else {
    const code = randomUUID();
    grants.set(code, {
      claims: person,
      nonce: query.get('nonce') ?? '',
      challenge: query.get('code_challenge') ?? '',
      redirectUri,
      clientId: query.get('client_id') ?? '',
    });
    back.searchParams.set('code', code);
  }
  response.writeHead(302, { location: back.href }).end();
}

async function sendToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const form = new URLSearchParams(await text(request));
  response.setHeader('content-type', 'application/json');
  const refuse = (error: string): void =>
    void response.writeHead(400).end(JSON.stringify({ error, error_description: 'a secret description' }));
  if (!isClient(request, form)) return refuse('invalid_client');
  const grant = grants.get(form.get('code') ?? '');
  grants.delete(form.get('code') ?? '');
  const verified = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  if (grant?.challenge !== verified || grant.redirectUri !== form.get('redirect_uri')) return refuse('invalid_grant');
  const claims = { aud: grant.clientId, nonce: grant.nonce, iat: 1, ...grant.claims };
  const idToken = 'alg' in claims ? unsigned(claims) : await sign(claims, {});
  response.end(JSON.stringify({ access_token: 'x', token_type: 'Bearer', id_token: idToken }));
}

function isClient({ headers }: IncomingMessage, form: URLSearchParams): boolean {
  if (client.secret === '') return form.get('client_id') === client.id;
  const [, base64 = ''] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
  // The id and the secret of the client are form-encoded (RFC 6749, 2.3.1).
  const [id, secret] = Buffer.from(base64, 'base64').toString().replaceAll('+', ' ').split(':').map(decodeURIComponent);
  return id === client.id && secret === client.secret;
}

function payloadOf(claims: object): JWTPayload {
  return JSON.parse(JSON.stringify({ iss: url(), ...claims })) as JWTPayload;
}

function unsigned(claims: object): string {
  return new UnsecuredJWT(payloadOf(claims)).encode();
}

/** Signs a token with the latest key. A claim that is undefined is left out. */
async function sign(claims: object, header: object): Promise<string> {
  const key = keys.at(-1);
  const alg = key?.publicJwk.alg;
  if (key === undefined || alg === undefined) throw new Error('there is no key');
  const protectedHeader = { alg, kid: key.kid, ...header };
  return new SignJWT(payloadOf(claims)).setProtectedHeader(protectedHeader).sign(key.privateKey);
}

async function rotate(kid: string, alg: string): Promise<void> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  keys = [...keys, { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg } }];
}

async function obey(order: IssuerOrder): Promise<unknown> {
  if (order.do === 'sign') return sign(order.claims, order.header);
  if (order.do === 'rotate') return rotate(order.kid, order.alg);
  if (order.do === 'asked') return asked;
  if (order.do === 'keep keys') keys = keys.slice(order.from, order.to);
  else if (order.do === 'publish') more = order.more;
  else if (order.do === 'fail') fault = order.fault;
  else ({ person, client } = order);
  return undefined;
}

function tell(reply: IssuerReply): void {
  process.send?.(reply);
}

process.on('message', (order: IssuerOrder) => {
  obey(order).then(
    (value) => tell({ id: order.id, value }),
    (error: unknown) => tell({ id: order.id, error: String(error) }),
  );
});
// The parent process has ended.
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => tell({ id: 0, value: url() }));
