import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { apiServiceKind } from '../../builtin/service-kind.ts';
import { compareVersions } from '../../registry/kinds/version-priority.ts';
import { notFound } from '../../registry/object/resource-errors.ts';
import { formatTime } from '../../registry/object/object-codec.ts';
import { negotiate } from '../request/accept.ts';
import { methodNotAllowed } from '../request/path-errors.ts';
import type { ResourcePath } from '../request/resource-path.ts';
import { sendBytes } from '../response/responses.ts';

export interface ApiServiceParts {
  readonly models: () => readonly ModelDescriptor[];
  /** The time from which the services are available, in milliseconds since 1970. */
  readonly sinceMs: number;
}

/** The priority that Kubernetes gives groups of CustomResourceDefinitions. */
const groupPriority = 1000;

/** Responds to requests for APIServices: each version of a group is shown as one APIService. */
export class ApiServiceHandler {
  readonly #parts: ApiServiceParts;

  constructor(parts: ApiServiceParts) {
    this.#parts = parts;
  }

  /** Returns the kind APIService for a path of APIServices; undefined for any other path. */
  find({ group, version, plural, subresource }: ResourcePath): ModelDescriptor | undefined {
    const { group: own, version: served, plural: named } = apiServiceKind;
    const isOwn = group === own && version === served && plural === named && subresource === undefined;
    return isOwn ? apiServiceKind : undefined;
  }

  handle(context: Context, { name }: ResourcePath): void {
    const isWatch = context.query['watch'] !== undefined;
    if (!['GET', 'HEAD'].includes(context.method) || isWatch) throw methodNotAllowed(context, apiServiceKind);
    const { format } = negotiate(context.headers.accept, ['json', 'yaml', 'problem']);
    const items = this.#items();
    const found = name === undefined ? this.#listOf(items) : items.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw notFound(apiServiceKind, name ?? '');
    sendBytes(context, Buffer.from(JSON.stringify(found)), format);
  }

  #listOf(items: readonly object[]): object {
    return {
      kind: 'APIServiceList',
      apiVersion: 'apiregistration.k8s.io/v1',
      metadata: { resourceVersion: '1' },
      items,
    };
  }

  #items(): readonly ApiService[] {
    const groups = new Map<string, Set<string>>();
    for (const { group, version } of this.#parts.models())
      groups.set(group, (groups.get(group) ?? new Set()).add(version));
    const names = [...groups.keys()].sort();
    return names.flatMap((group) => {
      // The first version is the preferred one, which has the highest priority.
      const versions = [...(groups.get(group) ?? [])].sort(compareVersions);
      return versions.map((version, at) => this.#itemOf(group, version, versions.length - at));
    });
  }

  #itemOf(group: string, version: string, versionPriority: number): ApiService {
    const time = formatTime(this.#parts.sinceMs);
    const message = 'Local APIServices are always available';
    const available = { type: 'Available', status: 'True', lastTransitionTime: time, reason: 'Local', message };
    const metadata = {
      name: `${version}.${group}`,
      uid: `${version}.${group}`,
      resourceVersion: '1',
      creationTimestamp: time,
      labels: { 'kube-aggregator.kubernetes.io/automanaged': 'true' },
    };
    const spec = { ...(group === '' ? {} : { group }), version, groupPriorityMinimum: groupPriority, versionPriority };
    const type = { kind: 'APIService', apiVersion: 'apiregistration.k8s.io/v1' } as const;
    return { ...type, metadata, spec, status: { conditions: [available] } };
  }
}

interface ApiService {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
  readonly status: object;
}
