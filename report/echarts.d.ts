// ECharts as one file: of its 600 modules, the loading alone takes half a second.
declare module 'echarts/dist/echarts.esm.min' {
  export * from 'echarts';
}
