import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import {
  ApiVersion,
  DeleteMapping,
  GetMapping,
  PostMapping,
  RequestMapping,
  RestController,
} from '../routes/controller-decorators.ts';
import type { EndpointOwnerOptions } from './endpoint-owner.ts';
import { EndpointTable } from './endpoint-table.ts';
import type { OwnedEndpoints } from './endpoint-table.ts';
import { consoleGroup, publicGroup, userGroup } from '../routes/group-names.ts';
import type { GeneratedKind } from './mount.ts';
import { fakeSource } from './request.fixture.ts';
import { route } from '../routes/route-builder.ts';
import type { RouteMethod, RouterFunction } from '../routes/router.ts';
import { ServerResponse } from '../routes/server-response.ts';

const answer = (): ServerResponse => ServerResponse.ok();
const router = (groupVersion: string, path: string, method: RouteMethod = 'GET'): RouterFunction =>
  route(groupVersion)[method](path, answer).build();

@RestController()
@RequestMapping('/apples')
class Unversioned {
  @GetMapping('/starting') starting(): string {
    return 'starting';
  }
}

@ApiVersion('api.example.com/v1alpha1')
@RestController()
@RequestMapping('/apples')
class Apples {
  @GetMapping('/starting') starting(): string {
    return 'starting';
  }

  @PostMapping({ path: '/:name', summary: 'Eats one', accept: 'application/json', body: { type: 'string' } })
  eat(): undefined {
    return undefined;
  }
}

@ApiVersion('v1alpha1')
@RestController()
@RequestMapping('/apples')
class OldApples {
  @GetMapping('/starting') starting(): string {
    return 'starting';
  }
}

describe('the endpoints of plugins', () => {
  let kinds: GeneratedKind[];
  let warnings: string[];
  let table: EndpointTable;

  beforeEach(() => {
    kinds = [];
    warnings = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
    table = new EndpointTable({ serviceDomain: 'homeostat.internal', kinds: () => kinds, logger });
  });

  const owner = (name: string, options?: EndpointOwnerOptions): OwnedEndpoints => table.forOwner(name, options);
  const paths = (): readonly string[] => table.routes().map(({ method, path }) => `${method} ${path}`);
  const found = (path: string, method = 'GET'): string | undefined => table.find(method, fakeSource({ path }))?.kind;

  const person: GeneratedKind = {
    group: 'example.com',
    version: 'v1',
    plural: 'persons',
    kind: 'Person',
    owner: 'people',
  };

  describe('serving', () => {
    it('serves endpoints under /apis/<group>/<version>/<path of @RequestMapping> in revision 2.15 of the specification [spec 4.3-path-2.15, 9-custom-path-2.15]', () => {
      owner('apples').add(Apples);
      expect(paths()).to.deep.equal([
        'GET /apis/api.example.com/v1alpha1/apples/starting',
        'POST /apis/api.example.com/v1alpha1/apples/{name}',
      ]);
      expect(found('/apis/api.example.com/v1alpha1/apples/starting')).to.equal('found');
      expect(found('/apis/api.example.com/v1alpha1/apples/starting/')).to.equal('found');
      expect(found('/apis/api.example.com/v1alpha1/apples/starting', 'HEAD')).to.equal('found');
      expect(found('/apis/api.example.com/v1alpha1/apples/starting', 'PUT')).to.equal('method');
      expect(found('/apis/api.example.com/v1alpha1/apples')).to.equal(undefined);
      expect(found('/apis/api.example.com/v1/apples/starting')).to.equal(undefined);
    });

    it('serves endpoints under the plugin’s name in revision 2.9 [spec 4.3-path-2.9, 9-custom-path-2.9]', () => {
      owner('fruit', { revision: '2.9' }).add(OldApples);
      expect(paths()).to.deep.equal(['GET /apis/plugin.api.homeostat.internal/v1alpha1/plugins/fruit/apples/starting']);
      expect(found('/apis/plugin.api.homeostat.internal/v1alpha1/plugins/fruit/apples/starting')).to.equal('found');
      expect(found('/apis/plugin.api.homeostat.internal/v1alpha1/plugins/other/apples/starting')).to.equal(undefined);
    });

    it('lists the routes for API documents, and returns the same array until a route is added or removed', () => {
      const owned = owner('apples');
      owned.add(Apples);
      const routes = table.routes();
      expect(routes[1]).to.deep.equal({
        method: 'POST',
        path: '/apis/api.example.com/v1alpha1/apples/{name}',
        owner: 'apples',
        summary: 'Eats one',
        body: { type: 'string' },
      });
      expect(table.routes()).to.equal(routes);
      owned.close();
      expect(table.routes()).to.deep.equal([]);
    });

    it('removes the endpoints of a plugin; then endpoints can be added again under the same plugin name', () => {
      const owned = owner('apples');
      owned.add(Apples);
      expect(() => owner('apples')).to.throw('"apples" has endpoints already');
      owned.close();
      expect(found('/apis/api.example.com/v1alpha1/apples/starting')).to.equal(undefined);
      expect(() => owned.add(Apples)).to.throw('have been removed');
      owner('apples').add(Apples);
      owned.close();
      expect(paths(), 'an old owner removes no endpoints of a new owner').to.have.length(2);
    });
  });

  describe('versions', () => {
    it('ignores a controller without a version, with one warning that names class and plugin [spec 4.3-unversioned]', () => {
      owner('apples').add(Unversioned);
      expect(warnings).to.deep.equal([
        'the controller class Unversioned of plugin "apples" has no @ApiVersion and is ignored',
      ]);
      expect(paths()).to.deep.equal([]);
    });

    it('refuses a router without group and version', () => {
      expect(() => owner('a').add(route().GET('/x', answer).build())).to.throw('a router needs a group and a version');
      expect(() => owner('b').add(() => undefined)).to.throw('without group and version');
    });

    it('refuses versions other than <group>/<version> in a plugin for revision 2.15, and other than <version> for 2.9 [spec 9-version-value-2.15, 9-version-value-2.9]', () => {
      expect(() => owner('a').add(OldApples)).to.throw(
        '@ApiVersion of OldApples: "v1alpha1" must be <group>/<version>',
      );
      expect(() => owner('b', { revision: '2.9' }).add(Apples)).to.throw('must be only the version');
      for (const value of ['example.com/', '/v1', 'example.com/v1/x', 'example.com/1', 'example.com/v0', ''])
        expect(() => owner(`x${value}`).add(router(value, '/a')), value).to.throw('the router: ');
    });

    it('refuses a router of a plugin for revision 2.9, in which only controller classes declare endpoints [spec 9-style-2.9]', () => {
      expect(() => owner('a', { revision: '2.9' }).add(router('example.com/v1', '/a'))).to.throw('revision 2.9');
    });
  });

  it('refuses a class or an object without decorators, and a class without @RestController', () => {
    class Plain {}
    @ApiVersion('example.com/v1')
    class Half {
      @GetMapping('/a') a(): string {
        return 'a';
      }
    }
    expect(() => owner('a').add(Plain)).to.throw('the class Plain is neither a router nor a controller');
    expect(() => owner('b').add({})).to.throw('neither a router nor a controller');
    expect(() => owner('e').add(route('example.com/v1'))).to.throw('a router is what build() returns');
    expect(() => owner('c').add(Half)).to.throw('the class Half must have the decorator @RestController');
  });

  describe('the check of their groups', () => {
    const add = (group: string, options: EndpointOwnerOptions = {}): void => {
      const owned = owner('me', options);
      try {
        owned.add(router(`${group}/v1`, '/a'));
      } finally {
        owned.close();
      }
    };

    it('allows the plugin’s own group g, groups below g, and console.api.g, uc.api.g and api.g [spec 4.3-group-console, 4.3-group-user, 4.3-group-public]', () => {
      const options = { group: 'example.com' };
      for (const group of ['example.com', 'deep.example.com', consoleGroup('example.com')]) add(group, options);
      for (const group of [userGroup('example.com'), publicGroup('example.com')]) add(group, options);
      expect(consoleGroup('g')).to.equal('console.api.g');
      expect(userGroup('g')).to.equal('uc.api.g');
      expect(publicGroup('g')).to.equal('api.g');
      for (const group of ['example.org', 'myexample.com', 'com'])
        expect(() => add(group, options), group).to.throw(`"${group}"`);
    });

    it('refuses a group that is not a domain, or that is reserved for the server', () => {
      add('example.com');
      for (const group of ['homeostat.internal', 'plugin.api.homeostat.internal'])
        expect(() => add(group)).to.throw('is reserved');
      for (const group of ['example', 'Example.com', '-a.b', 'a..b'])
        expect(() => add(group)).to.throw('must be a domain');
    });

    it('refuses a group that equals, or is below, the group of another plugin or of another plugin’s kind', () => {
      owner('other', { group: 'other.com' });
      kinds.push(person);
      for (const group of ['other.com', 'api.other.com']) expect(() => add(group)).to.throw('belongs to "other"');
      for (const group of ['example.com', 'api.example.com']) expect(() => add(group)).to.throw('belongs to "people"');
      add('sub.other.com', { group: 'sub.other.com' });
    });
  });

  describe('collisions of paths', () => {
    const add = (name: string, path: string): void => {
      const owned = owner(name, { group: 'example.com' });
      try {
        owned.add(router('example.com/v1', path));
      } catch (error) {
        owned.close();
        throw error;
      }
    };

    it('refuses a route in the group and version of a kind if it begins with a variable, the plural, namespaces or watch [spec 4.3-other-group]', () => {
      kinds.push(person);
      for (const path of ['/persons', '/persons/:name/greeting', '/:any', '/:any/x', '/namespaces/a', '/watch/persons'])
        expect(() => add('people', path), path).to.throw(
          `GET /apis/example.com/v1${path.replaceAll(/:(\w+)/g, '{$1}')} of "people" collides with the generated path /apis/example.com/v1/persons of Person of "people"`,
        );
      add('people', '/people/:name');
    });

    it('refuses a kind that collides with an existing route', () => {
      add('people', '/:any/greeting');
      expect(() => table.checkKind(person)).to.throw(
        'GET /apis/example.com/v1/{any}/greeting of "people" collides with the generated path /apis/example.com/v1/persons of Person',
      );
      table.checkKind({ ...person, version: 'v2' });
      table.checkKind({ ...person, group: 'example.org' });
    });

    it('refuses a route with a path of discovery', () => {
      expect(() => add('people', '')).to.throw('GET /apis/example.com/v1 is the path of discovery');
      expect(() => add('others', '/')).to.throw('is the path of discovery');
    });

    it('refuses a route with the method and the pattern of another plugin’s route', () => {
      table.forOwner('first').add(router('example.com/v1', '/a/:x'));
      const second = table.forOwner('second');
      expect(() => second.add(router('example.com/v1', '/a/:y'))).to.throw(
        'GET /apis/example.com/v1/a/{y} of "second" is taken: "first" has GET /apis/example.com/v1/a/{x}',
      );
      second.add(router('example.com/v1', '/a/:y', 'POST'));
      second.add(router('example.com/v1', '/a/b'));
    });

    it('adds no route of a router if one of its routes collides', () => {
      kinds.push(person);
      const both = route('example.com/v1').GET('/fine', answer).GET('/persons', answer).build();
      expect(() => owner('people').add(both)).to.throw('collides');
      expect(paths()).to.deep.equal([]);
    });
  });

  describe('a controller', () => {
    it('is refused when the path of a @GetMapping is invalid; the error names the class and the method', () => {
      @ApiVersion('example.com/v1')
      @RestController()
      class Wrong {
        @GetMapping('no slash') wrong(): string {
          return '';
        }
      }
      expect(() => owner('a').add(Wrong)).to.throw('Wrong.wrong: the path "no slash"');
    });

    it('is refused with an error that names the route whose schema cannot be used', () => {
      @ApiVersion('example.com/v1')
      @RestController()
      class Wrong {
        @PostMapping({ path: '/a', body: { type: 'string', pattern: '(?=x)' } }) wrong(): string {
          return '';
        }
      }
      expect(() => owner('a').add(Wrong)).to.throw('the schema of the body of POST /apis/example.com/v1/a');
    });

    it('has the routes of its base class; an overriding method with another route decorator replaces the inherited route', () => {
      class Base {
        @GetMapping('/base') one(): string {
          return 'base';
        }

        @GetMapping('/two') two(): string {
          return 'base';
        }
      }
      @ApiVersion('example.com/v1')
      @RestController()
      class Derived extends Base {
        @DeleteMapping('/two') override two(): string {
          return 'derived';
        }
      }
      owner('a').add(new Derived());
      expect(paths()).to.deep.equal(['GET /apis/example.com/v1/base', 'DELETE /apis/example.com/v1/two']);
    });

    it('must be passed as an instance when its constructor has parameters', () => {
      @ApiVersion('example.com/v1')
      @RestController()
      class Needy {
        readonly greeting: string;

        constructor(greeting: string) {
          this.greeting = greeting;
        }

        @GetMapping('/a') a(): string {
          return this.greeting;
        }
      }
      expect(() => owner('a').add(Needy)).to.throw('add an instance instead of the class');
      owner('b').add(new Needy('hello'));
      expect(paths()).to.deep.equal(['GET /apis/example.com/v1/a']);
    });

    it('must not have a route decorator, such as @GetMapping, on a static field', () => {
      expect(() => {
        class Static {
          // @ts-expect-error -- the compiler refuses a decorator of a static field, but plain JavaScript accepts it
          @GetMapping('/a') static a = 7;
        }
        return Static;
      }).to.throw(TypeError, 'not static field a');
    });
  });
});
