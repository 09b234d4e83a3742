import { isJsonObject } from '../../api/index.ts';
import { load } from 'js-yaml';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The part of a kubeconfig about one server. */
export interface KubeconfigAccess {
  readonly url: string;
  /** The certificate authorities, in PEM, one of which must have signed the server's certificate. */
  readonly ca?: string;
  readonly token?: string;
  /** The client's certificate, in PEM. */
  readonly cert?: string;
  /** The private key of the client's certificate, in PEM. */
  readonly key?: string;
}

export interface KubeconfigOptions {
  /** The name of a context of the file. Default: its current-context. */
  readonly context?: string;
}

/** The file to which a server with the default options writes its administrator's kubeconfig. */
const adminKubeconfig = 'data/admin.kubeconfig';

/** The URL at which a server with the default options listens. */
const defaultUrl = 'http://127.0.0.1:8700';

/**
 * Returns the default server and its credential, for a client whose user names no server: from the kubeconfig file in
 * HOMEOSTAT_KUBECONFIG; else from `./data/admin.kubeconfig`, if that file exists; else `http://127.0.0.1:8700` without
 * a credential. The variable KUBECONFIG is not read, because its file may be for a Kubernetes cluster. Throws the
 * errors of {@link readKubeconfig}.
 */
export function findServer(environment: Readonly<Record<string, string | undefined>> = process.env): KubeconfigAccess {
  const named = environment['HOMEOSTAT_KUBECONFIG'];
  if (named !== undefined && named !== '') return readKubeconfig(named);
  return existsSync(adminKubeconfig) ? readKubeconfig(adminKubeconfig) : { url: defaultUrl };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Fields that are refused because createClient does not support them: passwords, impersonation, proxies, and a server
 * name for TLS.
 */
const unsupported = {
  cluster: ['proxy-url', 'tls-server-name'],
  user: ['username', 'as'],
} as const;

/**
 * Fields that name credential plugins, from which kubectl gets a credential. They are refused, because otherwise this
 * library would run any program that a file names.
 */
const plugins = ['exec', 'auth-provider'] as const;

/**
 * Reads a kubeconfig file: `const { url, ...access } = readKubeconfig(path); createClient(url, access)`. It reads the
 * user's `token`, `tokenFile`, and client certificate with its key. Throws an Error that names the file and the field
 * when a field is missing, or needs something that createClient does not support. An error never contains a credential
 * of the file.
 */
export function readKubeconfig(path: string, { context }: KubeconfigOptions = {}): KubeconfigAccess {
  const file = new KubeconfigFile(path);
  const name = context ?? file.text(file.root, 'current-context');
  if (name === undefined) throw file.mistake('current-context', 'is missing: add it, or name a context in the options');
  const chosen = file.entry('contexts', name, 'context');
  const cluster = file.entry('clusters', file.text(chosen, 'cluster'), 'cluster');
  const userName = file.text(chosen, 'user');
  const user = userName === undefined ? {} : file.entry('users', userName, 'user');
  file.refuse(cluster, unsupported.cluster);
  file.refuse(user, unsupported.user);
  file.refuse(user, plugins, 'credential plugins are not supported: use a token, tokenFile or a client certificate');
  const url = file.text(cluster, 'server');
  if (url === undefined) throw file.mistake('server', 'is missing');
  if (cluster['insecure-skip-tls-verify'] === true && !url.startsWith('http:')) {
    throw file.mistake('insecure-skip-tls-verify', 'is not supported: set certificate-authority instead');
  }
  const ca = file.data(cluster, 'certificate-authority-data') ?? file.content(cluster, 'certificate-authority');
  const token = file.text(user, 'token') ?? file.content(user, 'tokenFile')?.trim();
  return {
    url,
    ...(ca === undefined ? {} : { ca }),
    ...(token === undefined ? {} : { token }),
    ...certificateOf(file, user),
  };
}

/**
 * Returns the client certificate and its key. As in kubectl, a certificate or key inside the kubeconfig takes
 * precedence over the path of another file.
 */
function certificateOf(file: KubeconfigFile, user: Fields): Pick<KubeconfigAccess, 'cert' | 'key'> {
  const cert = file.data(user, 'client-certificate-data') ?? file.content(user, 'client-certificate');
  const key = file.data(user, 'client-key-data') ?? file.content(user, 'client-key');
  if (cert === undefined && key === undefined) return {};
  if (key === undefined) throw file.mistake('client-key', 'is missing, but there is a client certificate');
  if (cert === undefined) throw file.mistake('client-certificate', 'is missing, but there is a client key');
  return { cert, key };
}

/**
 * Reads the fields of a kubeconfig file. An error about a wrong field contains the path of the file and the name of the
 * field.
 */
class KubeconfigFile {
  readonly root: Fields;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    this.root = this.#read();
  }

  mistake(field: string, problem: string): Error {
    return new Error(`${this.#path}: ${field}: ${problem}`);
  }

  text(fields: Fields, field: string): string | undefined {
    const value = fields[field];
    if (value === undefined || value === '') return undefined;
    if (typeof value !== 'string') throw this.mistake(field, 'must be a text');
    return value;
  }

  /** Returns the decoded text of a field in base64; undefined when the field is absent. */
  data(fields: Fields, field: string): string | undefined {
    const value = this.text(fields, field);
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
  }

  /**
   * Returns the content of the file whose path is in a field; undefined when the field is absent. A relative path
   * starts at the folder of the kubeconfig file.
   */
  content(fields: Fields, field: string): string | undefined {
    const value = this.text(fields, field);
    return value === undefined ? undefined : readFileSync(resolve(dirname(this.#path), value), 'utf8');
  }

  /** Returns the field `part` of the item with the given name, in a list of items `{name, <part>}`. */
  entry(list: string, name: string | undefined, part: string): Fields {
    const entries = this.root[list];
    const found = Array.isArray(entries)
      ? entries.filter(isJsonObject).find((each) => each['name'] === name)
      : undefined;
    const fields = found?.[part];
    if (!isJsonObject(fields)) throw this.mistake(list, `has no ${part} named ${JSON.stringify(name)}`);
    return fields;
  }

  refuse(fields: Fields, names: readonly string[], problem = 'is not supported'): void {
    const name = names.find((each) => fields[each] !== undefined);
    if (name !== undefined) throw this.mistake(name, problem);
  }

  #read(): Fields {
    const text = readFileSync(this.#path, 'utf8');
    const value = this.#parse(text);
    if (!isJsonObject(value)) throw new Error(`${this.#path}: is not a kubeconfig`);
    return value;
  }

  #parse(text: string): unknown {
    try {
      return load(text);
    } catch {
      // The parser's own error is left out: it quotes the line, which may contain the token.
      throw new Error(`${this.#path}: is not valid YAML`);
    }
  }
}
