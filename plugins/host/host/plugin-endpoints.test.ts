import { startApiServer, serviceOwner } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import {
  ApiError,
  ApiVersion,
  BasePlugin,
  definePlugin,
  GetMapping,
  PostMapping,
  publicGroup,
  RequestMapping,
  RestController,
  route,
  ServerResponse,
} from '../index.ts';
import type { Plugin, PluginContext, PluginEndpoints, ServerRequest } from '../index.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { PluginHost } from './plugin-host.ts';
import { pluginSource } from '../package/plugin-source.ts';
import { widgetModel } from '../widget.fixture.ts';

/**
 * The example controller of section 4.3 of the specification, in revision 2.15: mapping /apples, method path /starting.
 */
@ApiVersion('api.fruit.example.com/v1alpha1')
@RestController()
@RequestMapping('/apples')
class AppleController {
  @GetMapping('/starting') starting(request: ServerRequest): readonly string[] {
    return [`since ${request.query('since')}`];
  }

  @GetMapping('/none') none(): undefined {
    return undefined;
  }

  @GetMapping('/null') async null(): Promise<null> {
    return null;
  }

  @GetMapping('/teapot') teapot(): ServerResponse {
    return ServerResponse.status(418);
  }

  @GetMapping('/platform') async platform(): Promise<Response> {
    return new Response('hi', { status: 201 });
  }

  @GetMapping('/gone') gone(): never {
    throw new ApiError('Gone', 'eaten');
  }

  @PostMapping({
    path: '/:name',
    accept: 'application/json',
    contentType: 'application/json',
    body: { type: 'object', required: ['weight'], properties: { weight: { type: 'integer', minimum: 1 } } },
  })
  async add(request: ServerRequest): Promise<object> {
    return { name: request.pathVariable('name'), ...(await request.json<object>()) };
  }
}

/** The example controller of section 4.3 of the specification, in revision 2.9. */
@ApiVersion('v1alpha1')
@RestController()
@RequestMapping('/apples')
class OldAppleController {
  @GetMapping('/starting') starting(): string {
    return 'starting';
  }
}

@RestController()
@RequestMapping('/ignored')
class IgnoredController {
  @GetMapping() ignored(): string {
    return 'ignored';
  }
}

describe('the endpoints of a plugin', () => {
  const base = '/apis/api.fruit.example.com/v1alpha1';
  let server: ApiServer;
  let host: PluginHost;
  let warnings: string[];

  beforeEach(async () => {
    warnings = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
    server = await startApiServer({ database: 'memory:', port: 0, logger });
    host = new PluginHost({ server });
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
    expect(server.endpoints.routes(), 'endpoints left behind').to.deep.equal([]);
  });

  function add(name: string, plugin: Plugin, manifest: Partial<PluginManifest> = {}): void {
    const source = pluginSource(name, plugin);
    host.add({ ...source, manifest: { ...source.manifest, ...manifest } });
  }

  async function get(path: string, init: RequestInit = {}): Promise<{ status: number; body: unknown; text: string }> {
    const response = await fetch(server.url + path, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return { status: response.status, text, body: isJson ? JSON.parse(text) : undefined };
  }

  const post = (path: string, body: unknown): ReturnType<typeof get> =>
    get(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  const reasonOf = (name: string): string | undefined => host.statuses().find((each) => each.name === name)?.reason;

  it('are served at /apis/<group>/<version>/<mapping>, as in revision 2.15 of the specification [spec 1-custom-endpoints, 4.3-controller, 4.3-path-2.15, 9-custom, 9-custom-path-2.15]', async () => {
    add('fruit', { endpoints: [AppleController] }, { group: 'fruit.example.com' });
    await host.start();
    expect(await get(`${base}/apples/starting?since=may`)).to.deep.include({ status: 200, body: ['since may'] });
    expect(await get(`${base}/apples/none`)).to.deep.include({ status: 204, text: '' });
    expect(await get(`${base}/apples/null`)).to.deep.include({ status: 200, text: 'null' });
    expect((await get(`${base}/apples/teapot`)).status).to.equal(418);
    expect(await get(`${base}/apples/platform`)).to.include({ status: 201, text: 'hi' });
    expect((await get(`${base}/apples/gone`)).body).to.include({ kind: 'Status', reason: 'Gone', message: 'eaten' });
  });

  it('are served at /apis/plugin.api.<service domain>/<version>/plugins/<plugin>/<mapping> in revision 2.9 [spec 4.3-path-2.9, 9-custom, 9-custom-path-2.9]', async () => {
    add('fruit', { endpoints: [OldAppleController] }, { revision: '2.9' });
    add('more-fruit', { endpoints: [new OldAppleController()] }, { revision: '2.9' });
    await host.start();
    const old = '/apis/plugin.api.homeostat.internal/v1alpha1/plugins';
    expect(await get(`${old}/fruit/apples/starting`)).to.deep.include({ status: 200, body: 'starting' });
    expect((await get(`${old}/more-fruit/apples/starting`)).status).to.equal(200);
    expect((await get(`${old}/other/apples/starting`)).status).to.equal(404);
  });

  it('refuse a body that breaks the schema of the method, or has another media type', async () => {
    add('fruit', { endpoints: [AppleController] });
    await host.start();
    expect((await post(`${base}/apples/cox`, { weight: 3 })).body).to.deep.equal({ name: 'cox', weight: 3 });
    const refused = await post(`${base}/apples/cox`, { weight: 0 });
    expect(refused.body).to.include({ reason: 'Invalid' });
    expect(refused.text).to.contain('"field":"weight"');
    expect((await get(`${base}/apples/cox`, { method: 'POST', body: 'x' })).status).to.equal(415);
    const accept = { accept: 'text/html', 'content-type': 'application/json' };
    expect((await get(`${base}/apples/cox`, { method: 'POST', body: '{}', headers: accept })).status).to.equal(406);
  });

  it('are ignored without @ApiVersion; one warning names the class and the plugin [spec 1-custom-endpoints-versioned, 4.3-unversioned]', async () => {
    add('fruit', { endpoints: [IgnoredController, AppleController] });
    await host.start();
    expect(host.statuses()).to.deep.include({ name: 'fruit', version: '0.0.0', phase: 'Started' });
    expect(warnings).to.deep.equal([
      'the controller class IgnoredController of plugin "fruit" has no @ApiVersion and is ignored',
    ]);
    expect((await get(`${base}/apples/starting`)).status).to.equal(200);
  });

  it("can be added in the plugin's start method, and can use the client of the plugin [spec 1-custom-endpoints, 4.3-handler, 9-style-2.15]", async () => {
    const Widget = widgetModel();
    class Mine extends BasePlugin {
      override async start(): Promise<void> {
        this.schemeManager.register(Widget);
        this.endpoints.add(
          route(`${publicGroup('widgets.example.com')}/v1`)
            .GET('/count', async () => ServerResponse.ok().json((await this.client.list(Widget)).total))
            .build(),
        );
      }
    }
    add('mine', Mine);
    await host.start();
    expect((await get('/apis/api.widgets.example.com/v1/count')).body).to.equal(0);
  });

  it('respond with 503 until the plugin is Started, and with 404 after it has stopped', async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    let context: PluginContext | undefined;
    add(
      'fruit',
      definePlugin({
        endpoints: [AppleController],
        start: async (given) => {
          context = given;
          return gate;
        },
      }),
    );
    const started = host.start();
    await eventually(() => context !== undefined);
    expect((await get(`${base}/apples/none`)).status).to.equal(503);
    release();
    await started;
    expect((await get(`${base}/apples/none`)).status).to.equal(204);
    await host.stop();
    expect((await get(`${base}/apples/none`)).status).to.equal(404);
    expect(() => (context as { endpoints: PluginEndpoints }).endpoints.add(AppleController)).to.throw('stopped');
  });

  describe('with a mistake', () => {
    const answer = (): ServerResponse => ServerResponse.ok();

    it('fail only their plugin when a router has no group or a forbidden group, or when a plugin of revision 2.9 has a router [spec 9-style-2.9]', async () => {
      const reserved = route('x.homeostat.internal/v1').GET('/a', answer).build();
      add('nameless', { endpoints: [route().GET('/a', answer).build()] });
      add('foreign', { endpoints: [reserved] });
      add('elsewhere', { endpoints: [AppleController] }, { group: 'example.org' });
      add('old', { endpoints: [route('api.example.com/v1').GET('/a', answer).build()] }, { revision: '2.9' });
      add('fine', { endpoints: [AppleController] });
      await host.start();
      expect(reasonOf('nameless')).to.contain('a router needs a group and a version');
      expect(reasonOf('foreign')).to.contain('is reserved');
      expect(reasonOf('elsewhere')).to.contain("must be the plugin's own group example.org");
      expect(reasonOf('old')).to.contain('revision 2.9');
      expect((await get(`${base}/apples/none`)).status).to.equal(204);
    });

    it('fail the plugin when their path collides with the path of a kind; if another plugin has the kind, the plugin that starts later fails [spec 4.3-other-group]', async () => {
      const path = 'GET /apis/widgets.example.com/v1/{any} of';
      const router = route('widgets.example.com/v1').GET('/:any', answer).build();
      add('both', { models: [widgetModel()], endpoints: [router] });
      await host.start();
      expect(reasonOf('both')).to.contain(
        `${path} "both" collides with the generated path /apis/widgets.example.com/v1/widgets of Widget of "both"`,
      );
      expect(server.schemeManager.list().filter(({ owner }) => owner !== serviceOwner)).to.deep.equal([]);
      const first = new PluginHost({ server });
      first.add(pluginSource('first', { endpoints: [router] }));
      await first.start();
      const second = new PluginHost({ server });
      second.add(pluginSource('second', { models: [widgetModel()] }));
      await second.start();
      expect(second.statuses()[0]?.reason).to.contain(`${path} "first" collides`).and.to.contain('of "second"');
      expect(server.schemeManager.list().filter(({ owner }) => owner !== serviceOwner)).to.deep.equal([]);
      await second.stop();
      await first.stop();
    });
  });
});
