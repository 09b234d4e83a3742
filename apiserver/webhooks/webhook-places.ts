import type { WebhookClientConfig } from '../builtin/objects/webhook-objects.ts';

/** Options that say which webhooks a server may call, and where it finds them. */
export interface WebhookPlaceOptions {
  /** The origin (`https://<host>:<port>`) of each service, by `<namespace>/<name>`. */
  readonly services?: Readonly<Record<string, string>> | undefined;
  /**
   * The hosts that the server may call: `name`, `name:port`, or `*.domain`. Default: every host. The server may always
   * call the services in `services`.
   */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** The address of a webhook, and the data with which its certificate is checked. */
export interface WebhookPlace {
  readonly url: URL;
  /** A name that the certificate may have instead of the host of the URL. Default: none. */
  readonly serverName?: string;
  /** The trusted certificate authorities, in PEM. Default: the authorities that Node trusts. */
  readonly ca: string | undefined;
}

/** Finds the addresses of webhooks from their configurations. */
export class WebhookPlaces {
  readonly #options: WebhookPlaceOptions;
  /**
   * A cache of the addresses by configuration. An address stays valid, because a configuration is never changed in
   * place.
   */
  readonly #found = new WeakMap<WebhookClientConfig, WebhookPlace>();

  constructor(options: WebhookPlaceOptions) {
    this.#options = options;
  }

  /**
   * Returns the address of the webhook. @throws Error with a message for operators when the webhook has no address, or
   * the server may not call it
   */
  find(config: WebhookClientConfig): WebhookPlace {
    const known = this.#found.get(config) ?? this.#find(config);
    this.#found.set(config, known);
    return known;
  }

  #find({ url, service, caBundle }: WebhookClientConfig): WebhookPlace {
    const ca = caBundle === undefined || caBundle === '' ? undefined : pemOf(caBundle);
    if (service !== undefined) return { ...this.#placeOf(service), ca };
    const parsed = new URL(url ?? '');
    if (!this.#isAllowed(parsed))
      throw new Error(
        `the host ${parsed.host} is not among the hosts of --webhook-allow, so the server does not call it`,
      );
    return { url: parsed, ca };
  }

  #placeOf(service: NonNullable<WebhookClientConfig['service']>): Pick<WebhookPlace, 'url' | 'serverName'> {
    const { namespace, name, path = '/' } = service;
    const origin = this.#options.services?.[`${namespace}/${name}`];
    if (origin === undefined) {
      const cure = `start the server with --service-map ${namespace}/${name}=https://<host>:<port>`;
      throw new Error(`the service ${namespace}/${name} has no address, since this server routes no traffic: ${cure}`);
    }
    const url = new URL(origin);
    url.pathname = path.startsWith('/') ? path : `/${path}`;
    // The certificate must be for the DNS name of the service, which is `serverName`, or for the host of the URL. The
    // connection accepts either (webhook-connections.ts).
    return { url, serverName: `${name}.${namespace}.svc` };
  }

  #isAllowed({ hostname, host, port }: URL): boolean {
    const { allowedHosts } = this.#options;
    if (allowedHosts === undefined) return true;
    const withPort = port === '' ? `${host}:443` : host;
    return allowedHosts.some((allowed) => {
      const text = allowed.toLowerCase();
      if (text.startsWith('*.')) return hostname.endsWith(text.slice(1));
      return text === hostname || text === withPort;
    });
  }
}

function pemOf(caBundle: string): string {
  const pem = Buffer.from(caBundle, 'base64').toString('utf8');
  if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  throw new Error('unable to load root certificates: unable to parse bytes as PEM block');
}

const serviceForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?\/[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/**
 * Checks the name and the address of a service. Returns a message when one of them is not valid, otherwise an empty
 * list.
 */
export function checkServiceOrigin(service: string, origin: string): readonly string[] {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  const isOrigin = url?.protocol === 'https:' && url.pathname === '/' && url.search === '' && url.username === '';
  if (isOrigin && serviceForm.test(service)) return [];
  return [`"${service}=${origin}" is not a service: must be <namespace>/<name>=https://<host>:<port>`];
}

const hostForm = /^(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/i;

/** Checks the hosts that may be called. Returns a message for each host that is not valid. */
export function checkAllowedHosts(hosts: readonly string[]): readonly string[] {
  return hosts
    .filter((host) => !hostForm.test(host))
    .map((host) => `"${host}" is not a host: must be <host>, <host>:<port> or *.<domain>`);
}
