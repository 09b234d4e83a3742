import { expect } from 'chai';
import { mergeMetrics } from './merge-metrics.ts';

describe('the metrics of several processes', () => {
  it('are merged into one text, with the process as a label and the series of each metric together', () => {
    const text = (count: number): string =>
      [
        '# HELP b_total Requests.',
        '# TYPE b_total counter',
        `b_total{path="/{x} y"} ${count}`,
        '# HELP a A gauge.',
        '# TYPE a gauge',
        'a 1.5',
        '',
      ].join('\n');
    expect(
      mergeMetrics([
        [1, text(3)],
        [2, text(4)],
        [3, ''],
      ]),
    ).to.equal(
      [
        '# HELP a A gauge.',
        '# TYPE a gauge',
        'a{process="1"} 1.5',
        'a{process="2"} 1.5',
        '# HELP b_total Requests.',
        '# TYPE b_total counter',
        'b_total{process="1",path="/{x} y"} 3',
        'b_total{process="2",path="/{x} y"} 4',
        '',
      ].join('\n'),
    );
  });
});
