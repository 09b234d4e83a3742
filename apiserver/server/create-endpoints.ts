import type { Logger } from '@homeostat/controller-runtime/api';
import { EndpointTable } from '../endpoints/endpoint-table.ts';
import type { GeneratedKind } from '../endpoints/mount.ts';
import type { Registration, SchemeManager } from '../registry/scheme-manager.ts';

/** A kind and an endpoint never share a path, whichever comes first. */
export function createEndpoints(
  { serviceDomain, logger }: { readonly serviceDomain: string; readonly logger: Logger },
  schemes: SchemeManager,
): EndpointTable {
  const kinds = (): readonly GeneratedKind[] => schemes.list().map(kindOf);
  const endpoints = new EndpointTable({ serviceDomain, kinds, logger });
  schemes.on('registered', (registration) => endpoints.checkKind(kindOf(registration)));
  return endpoints;
}

function kindOf({ descriptor, owner }: Registration): GeneratedKind {
  const { group, version, plural, kind } = descriptor;
  return { group, version, plural, kind, owner };
}
