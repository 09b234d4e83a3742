import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { createManager } from '@homeostat/controller-runtime';
import { eventually } from '@homeostat/controller-runtime/testing';
import { controller } from 'homeostat';
import type { ControllerDefinition } from 'homeostat';
import { silentLogger, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { expect } from 'chai';
import { gadget, gadgetV1, gadgetV2 } from './support/models/gadget-versions.ts';
import { machine, Person, person, persons as personsPath } from './support/models/models.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';

describe('traces', () => {
  const exporter = new InMemorySpanExporter();
  let server: TestServer | undefined;

  before(() => {
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    trace.setGlobalTracerProvider(provider);
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  });

  after(() => {
    trace.disable();
    context.disable();
    propagation.disable();
  });

  afterEach(async () => {
    await server?.stop();
    server = undefined;
    exporter.reset();
  });

  /** A controller that makes a machine for each person. */
  const persons: ControllerDefinition = controller(Person, {
    async reconcile({ object, client, status, event }) {
      const { name } = object.metadata;
      if (name === 'fails') throw new Error('no luck');
      await client.ensure(machine, name, { metadata: { labels: { 'example.com/of': name } } });
      await status({ greeting: 'hello' });
      event('Normal', 'Greeted', 'hello');
    },
  });
  const machines: ControllerDefinition = controller(machine, { reconcile() {} });

  async function post(name: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const response = await fetch(`${server?.url}${personsPath}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(person(name)),
    });
    expect(response.status).to.equal(201);
  }

  const spansOf = (name: string): readonly ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => span.name === name);

  const spanOf = (name: string): ReadableSpan => {
    const [span, ...more] = spansOf(name);
    if (span === undefined || more.length > 0) throw new Error(`${more.length} more than one span "${name}"`);
    return span;
  };

  const linksOf = (span: ReadableSpan): readonly string[] => span.links.map((link) => link.context.spanId);
  const idOf = (span: ReadableSpan): string => span.spanContext().spanId;

  it('connect a write with the reconcile that it caused, the writes of that reconcile, and the next reconcile', async () => {
    server = await startTestServer({
      models: [Person, machine],
      controllers: [persons, machines],
      logger: silentLogger,
    });
    await post('ann', { traceparent: `00-${traceId}-${parentId}-01` });
    await server.settle();
    const request = spanOf('POST persons');
    expect(request.spanContext().traceId).to.equal(traceId);
    expect(request.parentSpanContext?.spanId).to.equal(parentId);
    expect(request.kind).to.equal(SpanKind.SERVER);
    expect(request.attributes).to.include({ 'http.request.method': 'POST', 'http.response.status_code': 201 });
    const reconcile = spanOf('reconcile person');
    expect(linksOf(reconcile)).to.deep.equal([idOf(request)]);
    expect(reconcile.parentSpanContext).to.equal(undefined);
    expect(reconcile.attributes).to.include({ 'homeostat.key': 'ann', 'homeostat.result': 'success' });
    const write = spanOf('write people.example.com/Machine');
    expect(write.parentSpanContext?.spanId).to.equal(idOf(reconcile));
    expect(linksOf(spanOf('reconcile machine'))).to.deep.equal([idOf(write)]);
  });

  it('link a reconcile in a version other than the storage version to the write that caused it', async () => {
    const gadgets = controller(gadgetV1, { reconcile() {} });
    server = await startTestServer({ models: [gadget], controllers: [gadgets] });
    const { client } = server;
    const tracer = trace.getTracer('test');
    await tracer.startActiveSpan('cause', async (span) => {
      await client.create(gadgetV2, { metadata: { name: 'a' }, spec: { size: 3 } });
      span.end();
    });
    await server.settle();
    expect(linksOf(spanOf('reconcile gadget'))).to.deep.equal([idOf(spanOf('cause'))]);
  });

  it('have the reconcileID of the record of a run; the record has the traceparent of the request that caused the run', async () => {
    server = await startTestServer({ models: [Person, machine], controllers: [persons], logger: silentLogger });
    await post('ann');
    await server.settle();
    const { runs } = (await (await fetch(`${server.url}/debug/controllers/person/ann`)).json()) as {
      readonly runs: readonly { readonly reconcileID: string; readonly reasons: readonly object[] }[];
    };
    const [request, reconcile] = [spanOf('POST persons'), spanOf('reconcile person')];
    expect(runs.map(({ reconcileID }) => reconcileID)).to.deep.equal([reconcile.attributes['homeostat.reconcile_id']]);
    const traceparent = `00-${request.spanContext().traceId}-${idOf(request)}-01`;
    expect(runs[0]?.reasons).to.have.length(1);
    expect(runs[0]?.reasons[0]).to.include({ type: 'event', detail: 'ADDED', traceparent });
  });

  it('continue over HTTP: a write of a controller in another process is a child of its reconcile', async () => {
    server = await startTestServer({ models: [Person, machine] });
    const manager = createManager({ client: server.httpClient, controllers: [persons] });
    const stop = new AbortController();
    const stopped = manager.run(stop.signal);
    await post('ann');
    await eventually(() => spansOf('PATCH persons').length === 1);
    stop.abort();
    await stopped;
    const reconcile = spanOf('reconcile person');
    const ids = exporter
      .getFinishedSpans()
      .filter((span) => span.parentSpanContext?.spanId === idOf(reconcile))
      .map(idOf);
    expect(ids).to.include(spanOf('POST machines').parentSpanContext?.spanId);
    expect(ids).to.include(spanOf('PATCH persons').parentSpanContext?.spanId);
    expect(spanOf('PATCH persons').spanContext().traceId).to.equal(reconcile.spanContext().traceId);
  });

  it('have the error of a failed reconcile, and the status of a refused request', async () => {
    server = await startTestServer({ models: [Person, machine], controllers: [persons], logger: silentLogger });
    await post('fails');
    await eventually(() => spansOf('reconcile person').length > 0);
    const [failed] = spansOf('reconcile person');
    expect(failed?.status).to.deep.equal({ code: SpanStatusCode.ERROR, message: 'no luck' });
    expect(failed?.attributes['homeostat.result']).to.equal('error');
    expect(failed?.events.map(({ name }) => name)).to.deep.equal(['exception']);
    await fetch(`${server.url}${personsPath}/nobody`);
    expect(spanOf('GET persons').attributes['http.response.status_code']).to.equal(404);
    expect(spanOf('GET persons').status.code).to.equal(SpanStatusCode.UNSET);
  });

  it('ignore a malformed traceparent', async () => {
    server = await startTestServer({ models: [Person, machine] });
    for (const [index, traceparent] of ['', '00-x', `00-${'0'.repeat(32)}-${parentId}-01`, 'x'.repeat(4000)].entries())
      await post(`p${index}`, { traceparent });
    expect(spansOf('POST persons').map((span) => span.parentSpanContext)).to.deep.equal(Array(4).fill(undefined));
  });
});
