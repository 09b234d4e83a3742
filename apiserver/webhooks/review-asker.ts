import type { Authorizer } from '../authorization/authorizer.ts';
import { CelAuthorizer, CelCheck } from '../cel/authorizer/authorizer-functions.ts';
import type { Asker } from '../cel/authorizer/authorizer-functions.ts';
import type { UserInfo } from '../identity/user-info.ts';
import { service } from '../identity/user-info.ts';
import type { ReviewedWrite } from '../registry/writes/registry-parts.ts';

function askerOf(authorizer: Authorizer, user: UserInfo): Asker {
  return {
    decide: (asked) => authorizer.decide(user, asked),
    forAccount: (namespace, name) => {
      const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
      return askerOf(authorizer, { username: `system:serviceaccount:${namespace}:${name}`, groups });
    },
  };
}

/** Returns the values of the CEL variables `authorizer` and `authorizer.requestResource` for a write. */
export function authorizerValues(
  authorizer: Authorizer,
  { resource, options }: ReviewedWrite,
  { name, namespace }: { readonly name: string; readonly namespace?: string | undefined },
): readonly [CelAuthorizer, CelCheck] {
  const { author = service, user = author, subresource } = options;
  const asker = askerOf(authorizer, user);
  const { group, version, plural } = resource.model;
  const check = new CelCheck(asker, 'ResourceCheck', {
    isResource: true,
    verb: '',
    group,
    version,
    resource: plural,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === '' ? {} : { name }),
  });
  return [new CelAuthorizer(asker), check];
}
