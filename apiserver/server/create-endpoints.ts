import type { Logger } from '@homeostat/controller-runtime/api';
import { EndpointTable } from '../endpoints/serving/endpoint-table.ts';
import type { GeneratedKind } from '../endpoints/serving/mount.ts';
import { versionsOfKind } from '../registry/kinds/kind-versions.ts';
import type { Registration, SchemeManager } from '../registry/kinds/scheme-manager.ts';

/**
 * Creates the endpoints of plugins. When a kind and an endpoint have the same path, the one that is registered later is
 * refused.
 */
export function createEndpoints(
  { serviceDomain, logger }: { readonly serviceDomain: string; readonly logger: Logger },
  schemes: SchemeManager,
): EndpointTable {
  const kinds = (): readonly GeneratedKind[] => schemes.list().flatMap(kindsOf);
  const endpoints = new EndpointTable({ serviceDomain, kinds, logger });
  schemes.on('registered', (registration) => {
    for (const kind of kindsOf(registration)) endpoints.checkKind(kind);
  });
  return endpoints;
}

/** Returns an entry for each version of a kind, because each version has its own path. */
function kindsOf({ descriptor, owner }: Registration): readonly GeneratedKind[] {
  return versionsOfKind(descriptor).map(({ group, version, plural, kind }) => ({
    group,
    version,
    plural,
    kind,
    owner,
  }));
}
