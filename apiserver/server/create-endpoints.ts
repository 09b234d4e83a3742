import type { Logger } from '@homeostat/controller-runtime/api';
import { EndpointTable } from '../endpoints/serving/endpoint-table.ts';
import type { GeneratedKind } from '../endpoints/serving/mount.ts';
import { versionsOfKind } from '../registry/kinds/kind-versions.ts';
import type { Registration, SchemeManager } from '../registry/kinds/scheme-manager.ts';

/** Refuses a kind and an endpoint with the same path, whichever is registered first. */
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

/** A kind has a path for each of its versions. */
function kindsOf({ descriptor, owner }: Registration): readonly GeneratedKind[] {
  return versionsOfKind(descriptor).map(({ group, version, plural, kind }) => ({
    group,
    version,
    plural,
    kind,
    owner,
  }));
}
