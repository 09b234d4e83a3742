import { serviceOwner } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { apiVersionOf } from '@homeostat/controller-runtime/api';

/** What somebody who just started the server could try, with the first kind that a plugin registered. Plain text. */
export async function hintsFor(server: Pick<ApiServer, 'url' | 'schemeManager' | 'client'>): Promise<string> {
  const registration = server.schemeManager.list().find(({ owner }) => owner !== serviceOwner);
  if (registration === undefined) return `\nHomeostat is ready at ${server.url}; no plugin has registered a kind.\n\n`;
  const { descriptor } = registration;
  const { items } = await server.client.list(descriptor, { size: 1, page: 1 });
  const base = `${server.url}/apis/${apiVersionOf(descriptor)}`;
  const namespace = items[0]?.metadata.namespace;
  const one = `${namespace === undefined ? '' : `namespaces/${namespace}/`}${descriptor.plural}/${items[0]?.metadata.name}`;
  return [
    '',
    `Homeostat is ready at ${server.url}. Try:`,
    `  curl '${base}/${descriptor.plural}?page=1&size=10'`,
    `  curl ${base}${items.length === 0 ? '' : `/${one}`}`,
    `  curl -N '${base}/${descriptor.plural}?watch=true'`,
    '',
    '',
  ].join('\n');
}
