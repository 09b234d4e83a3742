import { isJsonObject } from '@homeostat/controller-runtime/api';
import { refusalError, requestServer } from '../remote/request-server.ts';
import type { ServerAddress } from '../remote/request-server.ts';
import { ConfigError } from '../serve/config-error.ts';

/** The maximum lifetime of a token that is not bound to an object, in hours. */
const maxHours = 24;

export interface AccountTokenRequest {
  /** `<namespace>/<name>`. */
  readonly account: string;
  readonly hours: string | undefined;
}

/** Requests a token of a service account from a server. Rejects with ConfigError for bad values. */
export async function requestAccountToken(
  server: ServerAddress,
  { account, hours = '1' }: AccountTokenRequest,
): Promise<string> {
  const [, namespace = '', name = ''] = /^([a-z0-9-]+)\/([a-z0-9.-]+)$/.exec(account) ?? [];
  if (name === '') throw new ConfigError('--service-account: must be <namespace>/<name>, such as default/robot');
  const count = /^\d{1,2}$/.test(hours) ? Number(hours) : 0;
  if (count < 1 || count > maxHours)
    throw new ConfigError(`--hours: must be a whole number from 1 to ${maxHours}, not ${JSON.stringify(hours)}`);
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const json = {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    spec: { expirationSeconds: count * 3600 },
  };
  const response = await requestServer(server, path, { method: 'POST', json });
  if (!response.ok) throw await refusalError(`POST ${path}`, response);
  const answer: unknown = await response.json();
  const status = isJsonObject(answer) ? answer['status'] : undefined;
  const token = isJsonObject(status) ? status['token'] : undefined;
  if (typeof token !== 'string') throw new Error(`POST ${path} returned no token`);
  return token;
}
