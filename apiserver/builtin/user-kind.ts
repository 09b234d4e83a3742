import { defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';

/** A person who logs in with a password. The password is not a part of the object. */
export interface UserObject extends ApiObject {
  readonly spec?: {
    readonly displayName?: string;
    readonly groups?: readonly string[];
    readonly disabled?: boolean;
  };
}

/** The subresource to which a client writes the password. No request can read the password. */
export const passwordSubresource = 'password';

/** The only group with the prefix `system:` of which a User can be a member. */
const mastersGroup = 'system:masters';

const spec = {
  type: 'object',
  default: {},
  properties: {
    displayName: { type: 'string', maxLength: 256, description: 'The name that people read.' },
    groups: {
      type: 'array',
      maxItems: 100,
      items: { type: 'string', minLength: 1, maxLength: 256 },
      description: 'The groups of the user. The user has the roles that are bound to these groups.',
    },
    disabled: {
      type: 'boolean',
      default: false,
      description: 'A disabled user cannot log in with the password, and has no session that began with a password.',
    },
  },
} as const;

const kinds = new Map<string, ModelDescriptor<UserObject>>();

/**
 * Returns the kind of users: `User` of `iam.<service domain>/v1alpha1`, with Cluster scope. The object's name is the
 * name with which the user logs in.
 */
export function userKind(serviceDomain: string): ModelDescriptor<UserObject> {
  const known = kinds.get(serviceDomain);
  if (known !== undefined) return known;
  const kind: ModelDescriptor<UserObject> = defineModel({
    gvk: `iam.${serviceDomain}/v1alpha1/User`,
    plural: 'users',
    singular: 'user',
    printerColumns: [
      { name: 'Display Name', type: 'string', jsonPath: '.spec.displayName' },
      { name: 'Groups', type: 'string', jsonPath: '.spec.groups' },
      { name: 'Disabled', type: 'boolean', jsonPath: '.spec.disabled' },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
    schema: { type: 'object', properties: { spec } },
    validate: ({ spec: { groups = [] } = {} }: UserObject) => groups.flatMap(problemOfGroup),
  });
  kinds.set(serviceDomain, kind);
  return kind;
}

/** True for the kind of users, in the service domain of any server in this process. */
export function isUserKind({ group, kind, plural }: ModelDescriptor): boolean {
  return kind === 'User' && plural === 'users' && group.startsWith('iam.') && kinds.has(group.slice('iam.'.length));
}

/**
 * Returns the violation of a group that a User may not have. Groups with the prefix `system:` say how a user was
 * authenticated, so a User cannot list them, except `system:masters`.
 */
function problemOfGroup(group: string, index: number): readonly { readonly field: string; readonly message: string }[] {
  if (!group.startsWith('system:') || group === mastersGroup) return [];
  const message = `Invalid value: ${JSON.stringify(group)}: groups that begin with "system:" are the server's own; only "${mastersGroup}" can be given`;
  return [{ field: `spec.groups[${index}]`, message }];
}
