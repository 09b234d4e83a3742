import { serviceOwner } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { apiVersionOf } from '@homeostat/controller-runtime/api';

export interface HintFacts {
  /**
   * True when requests need the token. The hints name the environment variable of the token, and never contain the
   * token.
   */
  readonly token: boolean;
  /** The CA certificate file, for curl's --cacert. */
  readonly caFile: string | undefined;
  readonly hasConsole: boolean;
}

/**
 * Returns a plain text with commands to try after the first start. They use the first kind that a plugin registered.
 */
export function hintsFor(
  server: Pick<ApiServer, 'url' | 'schemeManager'>,
  { token, caFile, hasConsole }: HintFacts,
): string {
  const { url, schemeManager } = server;
  const registration = schemeManager.list().find(({ owner }) => owner !== serviceOwner);
  const page = hasConsole ? `The console: ${url}/console/\n` : '';
  if (registration === undefined) return `\nHomeostat is ready at ${url}; no plugin has registered a kind.\n${page}\n`;
  const { descriptor } = registration;
  const trust = caFile === undefined ? '' : ` --cacert '${caFile}'`;
  const curl = `curl${trust}${token ? ' -H "Authorization: Bearer $HOMEOSTAT_TOKEN"' : ''}`;
  const group = `${url}/apis/${apiVersionOf(descriptor)}`;
  return `
Homeostat is ready at ${url}. Try:
  ${curl} ${group}
  ${curl} '${group}/${descriptor.plural}?page=1&size=10'
  ${curl} -N '${group}/${descriptor.plural}?watch=true'
${page}
`;
}
