// The metrics and the traces of a program.
export { Counter, Gauge, Histogram } from './instruments.ts';
export { metricsContentType } from './metric-text.ts';
export { Metrics } from './metrics.ts';
export type { Family, HistogramOptions, MetricOptions, Sample, SampledOptions } from './metrics.ts';
export { startProcessMetrics } from './process-metrics.ts';
export { currentTraceparent, failSpan, inSpan, noteOrigin, originOf } from './tracing.ts';
export type { Span, SpanOptions } from './tracing.ts';
