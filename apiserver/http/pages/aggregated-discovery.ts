import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { groupNames, modelsOf, nicknamesOf, versionsOf } from './discovery.ts';
import { subresourcesOf, verbsOf } from '../request/verbs.ts';

type Models = readonly ModelDescriptor[];

/** A version of `apidiscovery.k8s.io`. A client requests the versions that it knows. */
export type DiscoveryVersion = 'v2' | 'v2beta1';

/** The versions, by the parameters of the Accept header that request them: `<as>.<v>.<g>`. */
export const discoveryShapes: Readonly<Record<string, DiscoveryVersion>> = {
  'apigroupdiscoverylist.v2.apidiscovery.k8s.io': 'v2',
  'apigroupdiscoverylist.v2beta1.apidiscovery.k8s.io': 'v2beta1',
};

/**
 * Returns one response with all resources of all group versions, for `GET /api` (the core group) or `GET /apis` (all
 * other groups).
 */
export function aggregatedDiscovery(path: '/api' | '/apis', models: Models, version: DiscoveryVersion): object {
  const groups = path === '/apis' ? groupNames(models) : [''].filter((group) => versionsOf(models, group).length > 0);
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versionsOf(models, group).map((each) => ({
        version: each,
        resources: modelsOf(models, group, each).map(resourceOf),
        freshness: 'Current',
      })),
    })),
  };
}

function resourceOf(model: ModelDescriptor): object {
  const { group, version, kind, plural, singular, scope } = model;
  const responseKind = { group, version, kind };
  return {
    resource: plural,
    responseKind,
    scope,
    singularResource: singular,
    verbs: verbsOf(model),
    ...nicknamesOf(model),
    subresources: subresourcesOf(model).map((subresource) => ({
      subresource: subresource.name,
      responseKind: subresource.responseKind ?? responseKind,
      verbs: subresource.verbs,
    })),
  };
}
