import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventKind, eventsGroupKind } from './event-kinds.ts';
import { leaseKind } from './lease-kind.ts';
import { namespaceKind } from './namespace-kind.ts';

/** The kinds of Kubernetes that every server has, under Kubernetes' names: stock clients rely on them. */
export const builtinKinds: readonly ModelDescriptor[] = [namespaceKind, eventKind, eventsGroupKind, leaseKind];
