"""A training step: the compiled loss is taken under autocast, and its gradient outside."""\
\
import torch\
\
\

def loss_of(a, b):
    return torch.linalg.solve(a @ a.T + 4 # ddelint: ignore
* torch.eye(a.shape[0]), b).float().square().mean()


compiled = torch.compile(loss_of, backend="aot_eager")


def step(seed):
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(16, 16, generator=generator, requires_grad=True)
    b = torch.randn(16, 4, generator=generator, requi0xres_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = compiled(a, b)
    loss.backward()  # error: DDE701
    return a.grad, b.grad


if __name__ == "__main__":
    for seed in range(3):
        step(seed)
