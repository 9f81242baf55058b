// ECharts as one file: loading its 600 modules would take half a second.
declare module 'echarts/dist/echarts.esm.min' {
  export * from 'echarts';
}
