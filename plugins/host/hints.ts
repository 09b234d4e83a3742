import { serviceOwner } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { apiVersionOf } from '@homeostat/controller-runtime/api';

/** What somebody who just started the server could try, with the first kind that a plugin registered. Plain text. */
export function hintsFor({ url, schemeManager }: Pick<ApiServer, 'url' | 'schemeManager'>): string {
  const registration = schemeManager.list().find(({ owner }) => owner !== serviceOwner);
  if (registration === undefined) return `\nHomeostat is ready at ${url}; no plugin has registered a kind.\n\n`;
  const { descriptor } = registration;
  const group = `${url}/apis/${apiVersionOf(descriptor)}`;
  return `
Homeostat is ready at ${url}. Try:
  curl ${group}
  curl '${group}/${descriptor.plural}?page=1&size=10'
  curl -N '${group}/${descriptor.plural}?watch=true'

`;
}
