import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { ResourceAttributes } from '../authorization/attributes.ts';
import type { Decision } from '../authorization/authorizer.ts';
import type { UserInfo } from '../identity/user-info.ts';

/** Decides whether each call of a client in the server's process is allowed. */
export interface ClientGuard {
  /** The user whose permissions the client has. */
  readonly user: UserInfo;
  /** Returns the decision. Its reason names what allows the call: a rule, or the permissions in a plugin's manifest. */
  decide(attributes: ResourceAttributes): Decision;
  /** Checks that the call is allowed. @throws ApiError Forbidden when it is not */
  check(attributes: ResourceAttributes): void;
  /** Calls the listener after each change of permissions, of any user. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** A call of a client, without the kind of its objects. */
export interface GuardedCall {
  readonly verb: string;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Returns the attributes of a call, from which authorization decides. */
export function attributesOf(
  { group, version, plural }: Pick<ModelDescriptor, 'group' | 'version' | 'plural'>,
  call: GuardedCall,
): ResourceAttributes {
  // As in Kubernetes, a request for a Namespace counts as a request in that namespace.
  const namespace = call.namespace ?? (group === '' && plural === 'namespaces' ? call.name : undefined);
  return { isResource: true, group, version, resource: plural, ...call, namespace };
}
