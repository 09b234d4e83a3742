import { expect } from 'chai';
import { createLeaderStatus, Metrics } from './metrics.ts';
import { startProcessMetrics } from './process-metrics.ts';

describe('Metrics', () => {
  it('writes counters and gauges in Prometheus’ text format, sorted by name', () => {
    const metrics = new Metrics();
    metrics.gauge({ name: 'workers', help: 'At work.' }).of().value = 2.5;
    const total = metrics.counter({ name: 'requests_total', help: 'All\nof \\ them.', labels: ['verb', 'path'] });
    total.of('get', 'a"b\\c\nd').inc();
    total.of('get', 'a"b\\c\nd').inc(2);
    total.of('put', '');
    expect(metrics.text()).to.equal(
      [
        '# HELP requests_total All\\nof \\\\ them.',
        '# TYPE requests_total counter',
        'requests_total{verb="get",path="a\\"b\\\\c\\nd"} 3',
        'requests_total{verb="put",path=""} 0',
        '# HELP workers At work.',
        '# TYPE workers gauge',
        'workers 2.5',
        '',
      ].join('\n'),
    );
  });

  it('counts an observation in its bucket and in all higher ones', () => {
    const metrics = new Metrics();
    const seconds = metrics.histogram({ name: 'seconds', help: 'x', labels: ['a'], buckets: [0.1, 1] }).of('b');
    for (const value of [0.05, 0.1, 0.5, 30]) seconds.observe(value);
    expect(metrics.text().split('\n').slice(2, -1)).to.deep.equal([
      'seconds_bucket{a="b",le="0.1"} 2',
      'seconds_bucket{a="b",le="1"} 3',
      'seconds_bucket{a="b",le="+Inf"} 4',
      'seconds_sum{a="b"} 30.65',
      'seconds_count{a="b"} 4',
    ]);
  });

  it('shares a metric among all callers that use its name, each with its own additional labels', () => {
    const metrics = new Metrics();
    const options = { name: 'runs_total', help: 'x', labels: ['controller'] };
    for (const plugin of ['a', 'b']) {
      new Metrics({ metrics, labels: { plugin } }).counter(options).of('same').inc();
    }
    new Metrics({ metrics, labels: { plugin: 'a' } }).counter(options).of('same').inc();
    expect(metrics.text()).to.include('runs_total{controller="same",plugin="a"} 2');
    expect(metrics.text()).to.include('runs_total{controller="same",plugin="b"} 1');
    expect(metrics.text().match(/# TYPE/g)).to.have.length(1);
  });

  it('refuses a name that another type of metric has, and names that Prometheus does not accept', () => {
    const metrics = new Metrics();
    metrics.counter({ name: 'runs_total', help: 'x' });
    expect(() => metrics.gauge({ name: 'runs_total', help: 'x' })).to.throw('there is a metric runs_total already');
    expect(() => metrics.counter({ name: 'runs_total', help: 'x', labels: ['a'] })).to.throw('runs_total');
    expect(() => metrics.counter({ name: 'runs-total', help: 'x' })).to.throw(RangeError, 'runs-total');
    for (const label of ['a-b', 'le', '']) {
      expect(() => metrics.counter({ name: 'other', help: 'x', labels: [label] })).to.throw(RangeError, `"${label}"`);
    }
  });

  it('keeps at most 5,000 series of a metric, and one series for all other label values', () => {
    const metrics = new Metrics();
    const family = metrics.counter({ name: 'many_total', help: 'x', labels: ['id', 'code'] });
    for (let id = 0; id < 6000; id += 1) family.of(String(id), '200').inc();
    family.of('0', '200').inc();
    expect(metrics.text().split('\n')).to.have.length(2 + 5001 + 1);
    expect(metrics.text()).to.include('many_total{id="0",code="200"} 2\n');
    expect(metrics.text()).to.include('many_total{id="other",code="other"} 1000\n');
    const plugin = new Metrics({ metrics, labels: { plugin: 'a' } });
    plugin
      .counter({ name: 'many_total', help: 'x', labels: ['id', 'code'] })
      .of('7000', '200')
      .inc();
    expect(metrics.text()).to.include('many_total{id="other",code="other"} 1000\n');
    expect(metrics.text()).to.include('many_total{id="other",code="other",plugin="a"} 1\n');
  });

  it('calls each sample function whenever text() is called, until the function is removed; omits its values if it throws', () => {
    const metrics = new Metrics();
    let depth = 1;
    const end = metrics.sample({ name: 'depth', help: 'x', type: 'gauge', labels: ['name'] }, () => [[['a'], depth]]);
    metrics.sample({ name: 'broken', help: 'x', type: 'gauge' }, () => {
      throw new Error('no figure');
    });
    expect(metrics.text()).to.include('depth{name="a"} 1\n');
    depth = 7;
    expect(metrics.text()).to.include('depth{name="a"} 7\n');
    end();
    expect(metrics.text()).not.to.include('depth{');
    expect(metrics.text()).to.include('# TYPE broken gauge\n');
  });

  it('measures the process until the measurement is ended', () => {
    const metrics = new Metrics();
    const stop = startProcessMetrics(metrics);
    const valueOf = (name: string): number => Number(new RegExp(`^${name} (.+)$`, 'm').exec(metrics.text())?.[1]);
    expect(valueOf('process_resident_memory_bytes')).to.be.above(1e6);
    expect(valueOf('process_cpu_seconds_total')).to.be.above(0);
    expect(valueOf('process_start_time_seconds')).to.be.within(1.5e9, Date.now() / 1000);
    expect(valueOf('nodejs_eventloop_lag_p99_seconds')).to.be.at.least(0);
    stop();
    expect(metrics.text()).not.to.match(/^process_cpu/m);
  });

  it('shows whether this process leads; the value is 0 at first', () => {
    const metrics = new Metrics();
    const tell = createLeaderStatus(metrics, 'people');
    expect(metrics.text()).to.include('leader_election_master_status{name="people"} 0\n');
    tell(true);
    expect(metrics.text()).to.include('leader_election_master_status{name="people"} 1\n');
    tell(false);
    expect(metrics.text()).to.include('leader_election_master_status{name="people"} 0\n');
  });
});
