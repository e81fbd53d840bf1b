import { ConsentFrame, Gate } from '@assent/web/next';

export default function Home() {
  return (
    <>
      <h1>Home</h1>
      <Gate purposes="analytics" fallback={<p>Statistics are off</p>}>
        <p>Statistics are on</p>
      </Gate>
      <ConsentFrame purposes="analytics" src="http://videos.example/embed" title="Video" />
    </>
  );
}
